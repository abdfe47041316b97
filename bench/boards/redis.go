package boards

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"
)

// sortedSet is a Redis server with one sorted set.
type sortedSet struct {
	cmd  *exec.Cmd
	conn redis.Conn
}

func startRedis(ctx context.Context) (*sortedSet, error) {
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := probe.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := probe.Close(); err != nil {
		return nil, err
	}
	s := &sortedSet{cmd: exec.CommandContext(ctx, "redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no")}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting redis-server (Debian: apt-get install redis-server): %w", err)
	}
	for range 100 {
		if s.conn, err = redis.Dial("tcp", address); err == nil {
			return s, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.stop()
	return nil, fmt.Errorf("redis-server does not answer: %w", err)
}

func (s *sortedSet) stop() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// fill puts a game's players in. Equal scores are in the order of names there, the
// last first, so earlier players get the higher member.
func (s *sortedSet) fill(g *game) error {
	if _, err := s.conn.Do("DEL", name); err != nil {
		return err
	}
	for i, e := range g.entries {
		if err := s.conn.Send("ZADD", name, e.points, member(i)); err != nil {
			return err
		}
		if i%1000 == 999 || i == len(g.entries)-1 {
			if _, err := s.conn.Do(""); err != nil {
				return fmt.Errorf("filling the sorted set: %w", err)
			}
		}
	}
	return nil
}

const last = 99_999_999

func member(i int) string { return player(last - i) }

func (s *sortedSet) first(context.Context) (players []string, err error) {
	members, err := redis.Strings(s.conn.Do("ZREVRANGE", name, 0, top-1))
	for _, m := range members {
		var n int
		if _, err := fmt.Sscanf(m, "player-%d", &n); err != nil {
			return nil, err
		}
		players = append(players, player(last-n))
	}
	return players, err
}

func (s *sortedSet) rank(_ context.Context, i int) (rank, stated int64, err error) {
	rank, err = redis.Int64(s.conn.Do("ZREVRANK", name, member(i)))
	if errors.Is(err, redis.ErrNil) {
		err = fmt.Errorf("player %d is not there", i)
	}
	return rank + 1, 0, err
}
