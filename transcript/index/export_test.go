package index

// Whole is how a record that breaks off is made one that can be read.
func Whole(text []byte) []byte { return whole(text) }

// Broken is text as it is indexed.
var Broken = broken
