package localpg

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"
)

// account is an unprivileged account of this machine.
type account struct {
	name     string
	uid, gid uint32
}

// unprivileged picks whom the server runs as when we are root, which
// PostgreSQL refuses to run as: `postgres` where its packages made it, else
// `nobody`. Anybody else runs it as themselves: nil.
func unprivileged(euid int, find func(name string) (*user.User, error)) (*account, error) {
	if euid != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := find(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("read ids of account %s: %w", name, err)
		}
		if uid == 0 {
			continue
		}
		return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and this machine has neither an account postgres nor nobody; run as another user or set " + EnvURL)
}
