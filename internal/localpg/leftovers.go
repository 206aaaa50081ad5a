package localpg

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	dirPrefix = "chumbo-pg-" // then the owner's process id, a dash and random letters
	markFile  = "owner"      // locked by the owner for as long as it lives
)

// newDir makes a server's directory and marks it as ours.
func newDir(parent string) (dir string, mark *os.File, err error) {
	dir, err = os.MkdirTemp(parent, dirPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", nil, fmt.Errorf("make server directory: %w", err)
	}
	// The account that runs the server has to get through to data/.
	if err := os.Chmod(dir, 0o711); err != nil {
		return "", nil, fmt.Errorf("open server directory: %w", err)
	}
	mark, err = os.OpenFile(filepath.Join(dir, markFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, fmt.Errorf("mark server directory: %w", err)
	}
	if !tryLock(mark) {
		return "", nil, fmt.Errorf("lock server directory")
	}
	return dir, mark, nil
}

// removeLeftovers removes the directories of servers whose owner died without
// closing them, and ends such a server if it still runs. What it cannot
// remove it leaves.
func removeLeftovers(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, dirPrefix+"*"))
	for _, dir := range dirs {
		if abandoned(dir) {
			endLeftover(dir)
			_ = os.RemoveAll(dir)
		}
	}
}

// abandoned tells whether a directory's owner is gone: the process of its name
// is dead and nobody holds the lock (the process may live in another
// container that shares this directory).
func abandoned(dir string) bool {
	if !ownedByUs(dir) {
		return false
	}
	rest := strings.TrimPrefix(filepath.Base(dir), dirPrefix)
	number, _, _ := strings.Cut(rest, "-")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 0 || alive(pid) {
		return false
	}
	mark, err := os.OpenFile(filepath.Join(dir, markFile), os.O_RDWR, 0)
	if err != nil {
		return os.IsNotExist(err)
	}
	defer func() { _ = mark.Close() }()
	return tryLock(mark)
}

// endLeftover ends the server that runs on dir, if any.
func endLeftover(dir string) {
	data := filepath.Join(dir, "data")
	content, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 || !strings.Contains(commandLine(pid), data) {
		return // ended, and its number may be another program's by now
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	endServer(process)
	waitGone(pid)
}
