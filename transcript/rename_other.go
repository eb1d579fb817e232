//go:build !windows

package transcript

// renamesOpen says that an open file can be renamed.
const renamesOpen = true
