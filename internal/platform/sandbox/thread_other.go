//go:build !linux

package sandbox

// onMainThread does not matter here: no thread is confined by itself.
func onMainThread() bool { return false }
