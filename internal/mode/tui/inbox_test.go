package tui

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/session"
)

// spoken is a session that says what it is told to, with as much time between.
type spoken struct {
	begun time.Time
	at    []time.Duration // when each is said, from the beginning
	types []agent.EventType
	lost  int // the event in whose place events were lost; 0 is none
	next  int
}

func (s *spoken) Next(ctx context.Context) (session.Event, error) {
	if s.next == len(s.at) {
		return session.Event{}, session.ErrClosed
	}
	if wait := s.at[s.next] - time.Since(s.begun); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return session.Event{}, ctx.Err()
		}
	}
	s.next++
	if s.next-1 == s.lost && s.lost > 0 {
		return session.Event{Event: agent.Event{Type: session.EventsLost}, Data: &session.Lost{Events: 1}}, nil
	}
	return session.Event{Seq: uint64(s.next), Event: agent.Event{Type: s.types[s.next-1]}}, nil
}

// Rest is as [session.Feed] has it.
func (s *spoken) Rest(ctx context.Context, d time.Duration) {
	now := time.Since(s.begun)
	end := now + d + d/4
	for i := s.next; i < len(s.at) && s.at[i] < end; i++ {
		if piece := s.types[i] == agent.MessageUpdate || s.types[i] == agent.ToolUpdate; !piece || s.at[i] >= now+d {
			end = s.at[i]
		}
	}
	timer := time.NewTimer(end - now)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// say adds n events of a type, the first after a pause.
func (s *spoken) say(typ agent.EventType, n int, pause time.Duration) {
	last := time.Duration(0)
	if len(s.at) > 0 {
		last = s.at[len(s.at)-1]
	}
	for range n {
		last += pause
		s.at, s.types = append(s.at, last), append(s.types, typ)
	}
}

// listen follows s until it ends and gives the numbers of what came, 0 for what was
// lost, and how often the loop was woken.
func listen(s *spoken) (got []uint64, wakes int) {
	s.begun = time.Now()
	in := newInbox()
	done := make(chan struct{})
	go func() {
		defer close(done)
		in.follow(context.Background(), nil, s)
	}()
	for ended := false; !ended; {
		select {
		case <-in.wake:
			wakes++
		case <-done:
			ended = true
		}
		_, events := in.take(nil, nil)
		for _, e := range events {
			if e.over {
				continue
			}
			if e.Type == session.EventsLost {
				e.Seq = 0
			}
			got = append(got, e.Seq)
		}
	}
	return got, wakes
}

func TestFollow(t *testing.T) {
	for name, tt := range map[string]struct {
		say         func(*spoken)
		least, most int // wakings
	}{
		"one":   {func(s *spoken) { s.say(agent.ToolStart, 1, time.Second) }, 1, 2},
		"apart": {func(s *spoken) { s.say(agent.ToolStart, 5, time.Second) }, 5, 6},
		// Two seconds of an answer: a waking for each frame, and some until its pace is known.
		"answer": {func(s *spoken) {
			s.say(agent.MessageStart, 1, time.Second)
			s.say(agent.MessageUpdate, 200, 10*time.Millisecond)
			s.say(agent.MessageEnd, 1, time.Millisecond)
		}, 50, 70},
		// What comes faster than it could be kept is read as it comes.
		"flood": {func(s *spoken) {
			s.say(agent.MessageStart, 1, time.Second)
			s.say(agent.MessageUpdate, 20_000, 10*time.Microsecond)
		}, 15_000, 20_100},
		"more than the inbox holds": {func(s *spoken) { s.say(agent.ToolUpdate, 3*maxWaiting, 0) }, 1, 20},
		"lost":                      {func(s *spoken) { s.say(agent.MessageUpdate, 10, time.Second); s.lost = 5 }, 10, 11},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &spoken{}
				tt.say(s)
				got, wakes := listen(s)
				var want []uint64
				for i := range s.at {
					want = append(want, uint64(i+1))
					if i == s.lost && i > 0 {
						want[i] = 0
					}
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Error(d)
				}
				if wakes < tt.least || wakes > tt.most {
					t.Errorf("the loop was woken %d times, want %d to %d", wakes, tt.least, tt.most)
				}
			})
		})
	}
}

// The end of what runs beside the loop ends following, also while it rests.
func TestFollowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spoken{begun: time.Now()}
		s.say(agent.MessageUpdate, 1000, 10*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second+5*time.Millisecond)
		defer cancel()
		newInbox().follow(ctx, nil, s)
		if took := time.Since(s.begun); took > 1100*time.Millisecond {
			t.Errorf("it followed for %v after the end", took-time.Second)
		}
	})
}
