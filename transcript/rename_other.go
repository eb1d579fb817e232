//go:build !windows

package transcript

// renamesOpen is that a file that is open can get another name.
const renamesOpen = true
