package localpg

import (
	"os/exec"
	"runtime"
	"syscall"
)

// tie makes the command end when we do, however that happens.
func tie(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }

// startTied starts a command and returns a channel that is closed when it has
// ended. Linux sends the death signal when the starting thread ends, so that
// thread is kept until then.
func startTied(cmd *exec.Cmd) (chan struct{}, error) {
	started := make(chan error, 1)
	exited := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(exited)
	}()
	return exited, <-started
}
