package transcript

// CheckRecord says why every store refuses r; nil if none does. Stores of other
// packages begin their Append and their Replace with it.
func CheckRecord(r []byte) error { return checkRecord(r) }
