package tenants

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

const (
	setupTries   = 10 // wrong ones before a code is void
	minSetupCode = 8  // characters of an operator's own code
)

// Setup is what the first person types.
type Setup struct {
	Code         seal.Secret // printed by the server, or CHUMBO_SETUP_CODE
	Email        string
	Password     seal.Secret
	Organization string
	Address      string
	Agent        string
}

// NeedsSetup reports whether the instance has no owner yet.
func (s *Service) NeedsSetup(ctx context.Context) (bool, error) {
	needs := false
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		needs, err = ownerless(ctx, q)
		return err
	})
	return needs, err
}

func ownerless(ctx context.Context, q *db.Queries) (bool, error) {
	_, err := q.InstanceFact(ctx, firstOwnerFact)
	if errors.Is(err, pgx.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("load first owner: %w", err)
	}
	return false, nil
}

// PrepareSetup makes the setup code of an instance without an owner, or keeps
// the operator's own. The code is returned for the server's output; it is zero
// when there is an owner. Only its hash is stored. Each start makes a new code
// and voids the one before; the operator's own keeps its count of wrong tries
// until it is changed.
func (s *Service) PrepareSetup(ctx context.Context, configured seal.Secret) (code seal.Secret, err error) {
	code = configured
	if code.IsZero() {
		code = newSetupCode()
	}
	if len(bareCode(code.Reveal())) < minSetupCode {
		return seal.Secret{}, fmt.Errorf("setup code: want at least %d characters beside spaces and hyphens", minSetupCode)
	}
	err = s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		needed, err := ownerless(ctx, q)
		if err != nil {
			return err
		}
		if !needed {
			code = seal.Secret{}
			return forgetSetupCode(ctx, q)
		}
		if err := q.PutSetupCode(ctx, db.PutSetupCodeParams{CodeHash: hashSetupCode(code), Now: s.now()}); err != nil {
			return fmt.Errorf("store setup code: %w", err)
		}
		return nil
	})
	if err != nil {
		return seal.Secret{}, err
	}
	return code, nil
}

// newSetupCode is 120 random bits in groups that can be typed.
func newSetupCode() seal.Secret {
	b := make([]byte, 15)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	text := base32.StdEncoding.EncodeToString(b)
	return seal.NewSecret(strings.Join([]string{text[:6], text[6:12], text[12:18], text[18:]}, "-"))
}

// bareCode is a code as people may type it: case, spaces and hyphens aside.
func bareCode(text string) string {
	return strings.ToUpper(strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r == '-' || r == ' ' || r == '\t' || r == '\r' || r == '\n'
	}), ""))
}

func hashSetupCode(code seal.Secret) []byte {
	sum := sha256.Sum256([]byte(bareCode(code.Reveal())))
	return sum[:]
}

func forgetSetupCode(ctx context.Context, q *db.Queries) error {
	if err := q.DeleteSetupCode(ctx); err != nil {
		return fmt.Errorf("forget setup code: %w", err)
	}
	return nil
}

// CompleteSetup makes the first owner and begins their session. A wrong code
// is fault.Forbidden and counted; after 10 the code is void (start the server
// again for a new one). Once there is an owner it is fault.Conflict.
func (s *Service) CompleteSetup(ctx context.Context, in Setup) (Session, error) {
	needed, err := s.NeedsSetup(ctx)
	if err != nil {
		return Session{}, err
	}
	if !needed {
		return Session{}, hasOwner()
	}
	in.Email, in.Organization = strings.TrimSpace(in.Email), strings.TrimSpace(in.Organization)
	if err := checkPerson(in.Email, in.Organization); err != nil {
		return Session{}, err
	}
	if err := checkPassword(in.Password, in.Email); err != nil {
		return Session{}, err
	}
	tries := byAddress("setup", in.Address)
	if err := s.try(ctx, tries); err != nil {
		return Session{}, err
	}
	if err := s.enterSetupCode(ctx, in.Code); err != nil {
		return Session{}, err
	}
	hash, err := s.passwords.hash(ctx, in.Password)
	if err != nil {
		return Session{}, err
	}
	var session Session
	err = s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		session, err = s.completeSetup(ctx, q, in, hash)
		if err != nil {
			return err
		}
		return s.right(ctx, q, tries)
	})
	if err != nil {
		return Session{}, err
	}
	return session, nil
}

// enterSetupCode compares a code, and counts a wrong one while it holds the
// row: replicas count together.
func (s *Service) enterSetupCode(ctx context.Context, code seal.Secret) error {
	var refused error
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var left int
		var err error
		if left, refused, err = checkSetupCode(ctx, q, code); err != nil || refused == nil || left == 0 {
			return err
		}
		if err := q.CountSetupTry(ctx); err != nil {
			return fmt.Errorf("count setup try: %w", err)
		}
		if left == 1 {
			refused = setupCodeVoid()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return refused
}

// checkSetupCode says how many tries are left, this one included, and whether
// the code is refused.
func checkSetupCode(ctx context.Context, q *db.Queries, code seal.Secret) (left int, refused, err error) {
	row, err := q.LockSetupCode(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return noSetupCode(ctx, q)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("load setup code: %w", err)
	}
	if row.Tries >= setupTries {
		return 0, setupCodeVoid(), nil
	}
	left = setupTries - int(row.Tries)
	if subtle.ConstantTimeCompare(row.CodeHash, hashSetupCode(code)) == 1 {
		return left, nil, nil
	}
	return left, fault.New(fault.Forbidden, "setup_code_wrong", "This is not the setup code. The server printed it when it started, or it is CHUMBO_SETUP_CODE. After %d wrong tries it is void.", setupTries), nil
}

// noSetupCode: somebody else became the owner a moment ago, or no server has
// started since the code was taken away.
func noSetupCode(ctx context.Context, q *db.Queries) (left int, refused, err error) {
	needed, err := ownerless(ctx, q)
	if err != nil {
		return 0, nil, err
	}
	if !needed {
		return 0, hasOwner(), nil
	}
	return 0, setupCodeVoid(), nil
}

func setupCodeVoid() error {
	return fault.New(fault.Forbidden, "setup_code_void", "There is no setup code that holds: after %d wrong tries it is void. Start the server again for a new one; one given by CHUMBO_SETUP_CODE must be changed.", setupTries)
}

// completeSetup claims first and looks at the code then, in the order of
// CreateOwner: two that run at once cannot wait for each other.
func (s *Service) completeSetup(ctx context.Context, q *db.Queries, in Setup, hash string) (Session, error) {
	if err := claimFirstOwner(ctx, q); err != nil {
		return Session{}, err
	}
	if _, refused, err := checkSetupCode(ctx, q, in.Code); err != nil || refused != nil {
		return Session{}, errors.Join(err, refused)
	}
	if err := forgetSetupCode(ctx, q); err != nil {
		return Session{}, err
	}
	b, err := s.ensureBuilder(ctx, q, in.Email)
	if err != nil {
		return Session{}, err
	}
	now := s.now()
	if err := q.SetBuilderPassword(ctx, db.SetBuilderPasswordParams{ID: b.ID, PasswordHash: &hash, Now: &now}); err != nil {
		return Session{}, fmt.Errorf("store password: %w", err)
	}
	by := events.Actor{Builder: b.ID, Address: in.Address}
	if _, err := s.found(ctx, q, b, in.Organization, by, nil); err != nil {
		return Session{}, err
	}
	return s.beginSession(ctx, q, b, in.Address, in.Agent)
}
