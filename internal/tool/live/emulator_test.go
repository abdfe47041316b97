package live

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestEmulatorThatRenamesItsRegion reads a stream that has the Region of AWS and the times of DynamoDB Local: minutes. The
// windows have what was written in them, within a poll's second, and no delete that found nothing.
func TestEmulatorThatRenamesItsRegion(t *testing.T) {
	const perSecond, error = 2, 4
	for name, start := range map[string]time.Duration{"at a minute": 0, "within one": 37 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(start)
			f := &fake{emulates: true}
			s := f.open("")
			r := f.reader(t, Options{})
			begin := time.Now().Add(5 * time.Second).Truncate(Window).Add(Window)
			seconds(150, func(int) {
				for range perSecond {
					f.write(s, "a", 1)
				}
			})
			time.Sleep(5 * time.Second)
			n := 0
			for w, err := range r.Windows(t.Context(), begin, begin.Add(2*time.Minute), Window) {
				require.NoError(t, err)
				if units := int(unitsOf(w)); units < 10*perSecond-error || units > 10*perSecond+error {
					t.Errorf("%s: %d units at %v, want %d", name, units, w.Start, 10*perSecond)
				}
				n++
			}
			if n != 12 {
				t.Errorf("%s: %d windows, want 12", name, n)
			}
			begin, n = begin.Truncate(time.Minute).Add(time.Minute), 0 // of the first minute, some seconds had no writes
			past, err := ReadPast(t.Context(), PastOptions{Streams: f.client(), Found: found(), From: begin, To: time.Now(), Within: time.Minute})
			require.NoError(t, err)
			for w := range past.Windows(t.Context(), begin, begin.Add(time.Minute), Window) {
				if units := int(unitsOf(w)); units < 10*perSecond-error || units > 10*perSecond+error {
					t.Errorf("%s, past: %d units at %v, want %d", name, units, w.Start, 10*perSecond)
				}
				n++
			}
			if n != 6 {
				t.Errorf("%s, past: %d windows, want 6", name, n)
			}
		})
	}
}

// TestFirstRecordsAtAMinute reads a stream of AWS whose first records are written at the start of a minute.
func TestFirstRecordsAtAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		r := f.reader(t, Options{})
		time.Sleep(time.Minute)
		for range 7 {
			f.write(s, "a", 1)
		}
		at := time.Now()
		seconds(30, func(int) { f.write(s, "b", 1) })
		time.Sleep(5 * time.Second)
		if got := counted(t, r); got["a"] != 7 {
			t.Errorf("counted %v", got)
		}
		for w, err := range r.Windows(t.Context(), at.Truncate(Window), at.Truncate(Window).Add(Window), Window) {
			require.NoError(t, err)
			if unitsOf(w) < 16 {
				t.Errorf("%d units in the first window, want the 7 of the first second too", unitsOf(w))
			}
		}
	})
}
