package github

// Wait waits for what is refreshed.
func (r *Reader) Wait() { r.wait.Wait() }
