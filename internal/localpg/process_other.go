//go:build !unix

package localpg

import (
	"errors"
	"os"
	"os/exec"
)

func confine(*exec.Cmd, *account)   {}
func giveTo(*account, string) error { return errors.New("not supported on this system") }
func endServer(p *os.Process)       { _ = p.Kill() }
func tryLock(*os.File) bool         { return true }
func alive(int) bool                { return true } // leftovers stay
func waitGone(int)                  {}
func ownedByUs(string) bool         { return false }
func commandLine(int) string        { return "" }
