package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/burin-dev/burin/agent"
)

// A rest ends by the clock of the events: with the first after its time, and at once with
// what cannot wait.
func TestRest(t *testing.T) {
	const d = 40 * time.Millisecond
	type said struct {
		at  time.Duration
		typ agent.EventType
	}
	every := func(pause time.Duration, typ agent.EventType) (out []said) {
		for at := pause; at < 3*d; at += pause {
			out = append(out, said{at, typ})
		}
		return out
	}
	for name, tt := range map[string]struct {
		there agent.EventType // when the rest begins
		say   []said
		want  time.Duration
	}{
		"nothing":             {"", nil, d + d/4},
		"pieces":              {"", every(15*time.Millisecond, agent.MessageUpdate), 45 * time.Millisecond},
		"at its very end":     {"", every(d, agent.ToolUpdate), d},
		"rare pieces":         {"", every(d-time.Millisecond, agent.MessageUpdate), d + d/4},
		"what cannot wait":    {"", []said{{5 * time.Millisecond, agent.MessageUpdate}, {7 * time.Millisecond, agent.MessageEnd}}, 7 * time.Millisecond},
		"the end":             {"", []said{{5 * time.Millisecond, ""}}, 5 * time.Millisecond},
		"a piece is there":    {agent.MessageUpdate, nil, d + d/4},
		"a message is there":  {agent.MessageEnd, nil, 0},
		"the end of its time": {"", []said{{3 * time.Millisecond, "cancel"}}, 3 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				h := newHub(nil)
				f := &feed{hub: h, seq: 1}
				if tt.there != "" {
					h.emit(Event{Event: agent.Event{Type: tt.there}})
				}
				begun := time.Now()
				go func() {
					for _, s := range tt.say {
						<-time.After(s.at - time.Since(begun))
						switch s.typ {
						case "":
							h.end()
						case "cancel":
							cancel()
						default:
							h.emit(Event{Event: agent.Event{Type: s.typ}})
						}
					}
				}()
				f.Rest(ctx, d)
				if took := time.Since(begun); took != tt.want {
					t.Errorf("it ended after %s, want %s", took, tt.want)
				}
				synctest.Wait()
				if len(h.resting) > 0 {
					t.Error("it is still taken for resting")
				}
				if tt.there != "" {
					if e, err := f.Next(ctx); err != nil || e.Type != tt.there {
						t.Errorf("behind it: %s, %v", e.Type, err)
					}
				}
				<-time.After(4 * d) // everything was said
				f.Rest(ctx, d)      // and it may rest again
			})
		})
	}
}
