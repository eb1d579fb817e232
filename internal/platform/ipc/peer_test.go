package ipc

import (
	"errors"
	"os"
	"testing"
)

// Parents change while they are looked at: what is said is true, or an error.
func TestDescendsWhileProcessesEnd(t *testing.T) {
	errGone := errors.New("gone")
	for _, tt := range []struct {
		name  string
		looks []process // what is seen one after the other; no pid: the process is gone
		want  bool
		fails bool
	}{
		{"a child", []process{{30, 20, 3}, {20, 10, 2}, {30, 20, 3}, {10, 1, 1}, {20, 10, 2}}, true, false},
		{"not a child", []process{{30, 1, 3}, {1, 0, 0}, {30, 1, 3}}, false, false},
		{"itself", []process{{10, 1, 1}}, true, false},
		{"gone", []process{{}}, false, true},
		{"gone meanwhile", []process{{30, 20, 3}, {20, 1, 2}, {}}, false, true},
		{"its number is another's", []process{{30, 20, 3}, {20, 1, 2}, {30, 1, 9}}, false, true},
		{"adopted by the guard", []process{{30, 20, 3}, {}, {30, 15, 3}, {15, 10, 2}, {30, 15, 3}, {10, 1, 1}, {15, 10, 2}}, true, false},
		{"the parent's number is another's", []process{{30, 20, 3}, {20, 1, 9}, {30, 15, 3}, {15, 10, 2}, {30, 15, 3}, {10, 1, 1}, {15, 10, 2}}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			looks := tt.looks
			got, err := descends(looks[0].pid, 10, func(int) (process, error) {
				p := looks[0]
				looks = looks[1:]
				if p.pid == 0 {
					return p, errGone
				}
				return p, nil
			})
			if got != tt.want || (err != nil) != tt.fails || len(looks) > 0 {
				t.Errorf("%v, %v; not looked at: %v", got, err, looks)
			}
		})
	}
	if _, err := descends(3, 10, func(pid int) (process, error) { return process{pid, 7 - pid, 0}, nil }); err == nil {
		t.Error("parents in a circle end")
	}
}

func BenchmarkDescends(b *testing.B) {
	for b.Loop() {
		if does, err := Descends(os.Getpid(), -1); does || err != nil {
			b.Fatal(does, err)
		}
	}
}
