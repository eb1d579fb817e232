package sandbox

import "runtime"

// OnThread runs f on a thread of its own, which ends with f: what confines the thread
// confines nothing else of the process. The main thread, which stands for the process,
// is never taken.
func OnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if onMainThread() {
			OnThread(f) // this goroutine holds the main thread meanwhile
			runtime.UnlockOSThread()
			return
		}
		f() // and never unlocked: the thread ends with the goroutine
	}()
	<-done
}
