package boards

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
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

func member(i int) string { return fmt.Sprintf("player-%08d", 99_999_999-i) }

func (s *sortedSet) first(_ context.Context, g *standings) error {
	list, err := redis.Strings(s.conn.Do("ZREVRANGE", name, 0, top-1, "WITHSCORES"))
	if err != nil || len(list) != 2*top {
		return fmt.Errorf("%d of %d: %w", len(list), 2*top, err)
	}
	for n := range top {
		if i := g.ranked[n]; list[2*n] != member(i) || list[2*n+1] != strconv.Itoa(g.entries[i].points) {
			return fmt.Errorf("rank %d is %s", n+1, list[2*n])
		}
	}
	return nil
}

func (s *sortedSet) leader() (string, error) {
	list, err := redis.Strings(s.conn.Do("ZREVRANGE", name, 0, 0))
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0], nil
}

func (s *sortedSet) rank(_ context.Context, _ *standings, i int) (rank, stated int64, err error) {
	rank, err = redis.Int64(s.conn.Do("ZREVRANK", name, member(i)))
	if errors.Is(err, redis.ErrNil) {
		err = fmt.Errorf("player %d is not there", i)
	}
	return rank + 1, 0, err
}
