package transcript

// CheckRecord says why every store refuses r; nil if none does. Stores in other packages call
// it first in Append and Replace.
func CheckRecord(r []byte) error { return checkRecord(r) }
