package project_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/pgstore"
)

// stopped is a store whose first calls take long and fail.
type stopped struct {
	transcript.Memory
	fails int
	calls int
	long  time.Duration
}

func (s *stopped) Append(records ...[]byte) ([]transcript.Ref, error) {
	if s.calls++; s.calls <= s.fails {
		<-time.After(s.long)
		return nil, pgstore.ErrLost
	}
	return s.Memory.Append(records...)
}

// A process that was stopped within an append asks the database again, however long that was. One that is away is
// not asked forever.
func TestStoppedWithinAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := &stopped{fails: 1, long: time.Hour}
		if refs, err := project.Guard(below).Append([]byte("{}")); err != nil || len(refs) != 1 {
			t.Errorf("%v, %v", refs, err)
		}
		for _, long := range []time.Duration{0, time.Hour} {
			below = &stopped{fails: 1000, long: long}
			if _, err := project.Guard(below).Append([]byte("{}")); !errors.Is(err, pgstore.ErrLost) || below.calls < 3 || below.calls > 40 {
				t.Errorf("after %d calls: %v", below.calls, err)
			}
		}
	})
}
