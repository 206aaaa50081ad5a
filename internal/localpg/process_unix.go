//go:build unix

package localpg

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// confine runs a command under an account (nil for our own) and in a process
// group of its own, so that Ctrl-C at a terminal reaches us and not it.
func confine(cmd *exec.Cmd, who *account) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if who != nil {
		attr.Credential = &syscall.Credential{Uid: who.uid, Gid: who.gid}
	}
	tie(attr)
	cmd.SysProcAttr = attr
}

func giveTo(who *account, path string) error {
	return os.Chown(path, int(who.uid), int(who.gid))
}

// endServer asks for an immediate shutdown: the data is thrown away.
func endServer(p *os.Process) { _ = p.Signal(syscall.SIGQUIT) }

// tryLock takes a lock that ends with the process, and tells whether it could.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}

func waitGone(pid int) {
	for deadline := time.Now().Add(5 * time.Second); alive(pid) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
}

func ownedByUs(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// commandLine is what a running process was started with, or empty.
func commandLine(pid int) string {
	if content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err == nil {
		return string(content)
	}
	out, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return string(out)
}
