package people

// Cheap has the hashes of passwords take little memory and time.
func Cheap(p *People) { p.hashes = newHashes(64) }
