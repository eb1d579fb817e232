package transcript

import (
	"bytes"
	"errors"
)

// errNotOneLine is why a store refuses what would not be one line of a file.
var errNotOneLine = errors.New("a record is one line: it is not empty and has no line end")

// CheckRecord says why every store refuses r; nil if none does.
func CheckRecord(r []byte) error {
	switch {
	case len(r) > MaxRecord: // before anything looks at its bytes
		return ErrTooLong
	case len(r) == 0 || bytes.IndexByte(r, '\n') >= 0:
		return errNotOneLine
	}
	return nil
}
