package child

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAStoppedWatchdogDoesNotBite(t *testing.T) {
	for _, goOn := range []time.Duration{time.Second, 0} {
		synctest.Test(t, func(t *testing.T) {
			asked, stopped := make(chan struct{}, 9), make(chan struct{})
			bites := 0
			w := Watch(time.Second, func() time.Duration {
				asked <- struct{}{}
				<-stopped // the wait ends while the watchdog looks
				return goOn
			}, func() { bites++ })
			<-asked
			w.Stop()
			close(stopped)
			time.Sleep(time.Minute) // of the bubble's clock: a timer that was set again would fire
			synctest.Wait()
			if bites != 0 {
				t.Errorf("goOn=%v: late was called %d times after stop", goOn, bites)
			}
		})
	}
}

func TestAWatchdogBitesOnceTheWaitIsNotGrantedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 3
		bitten := make(chan time.Time, 1)
		began := time.Now()
		w := Watch(time.Second, func() time.Duration {
			left--
			if left > 0 {
				return time.Second
			}
			return 0
		}, func() { bitten <- time.Now() })
		defer w.Stop()
		if took := (<-bitten).Sub(began); took != 3*time.Second {
			t.Errorf("late was called after %v, want 3s", took)
		}
	})
}
