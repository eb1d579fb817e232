package sealed

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/burin-dev/burin/transcript"
)

// Rekey seals all records of s, which comes from [New], with another key. Afterwards, even after
// a crash, either the old key opens the session or the new one. What can't be read stays so.
func Rekey(s transcript.Store, key Key) error {
	x, ok := s.(*store)
	if p, is := s.(published); is {
		x, ok = p.store, true
	}
	if !ok || key.empty() {
		return errors.New("seal a session with another key: it is not sealed, or there is no key")
	}
	if x.heads != nil { // nothing is stored yet
		x.start(key.newMaster())
		return nil
	}
	was := x.master
	x.master = key.newMaster()
	var failed error
	stopped := errors.New("stopped")
	err := x.Replace(func(yield func([]byte) bool) {
		failed = x.Records(func(_ transcript.Ref, record []byte) error {
			if transcript.TooLong(record) {
				return transcript.ErrTooLong
			}
			if !yield(bytes.Clone(record)) {
				return stopped
			}
			return nil
		})
		if failed != nil && !errors.Is(failed, stopped) {
			yield([]byte("\n")) // which no store takes: the session stays as it was
		}
	})
	if failed != nil && !errors.Is(failed, stopped) {
		err = failed
	}
	if err != nil {
		x.master = was
		return fmt.Errorf("seal a session with another key: %w", err)
	}
	return nil
}

// Format implements [fmt.Formatter]: a key prints as "key".
func (Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "key") }
