package bridge

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/singleflight"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// The life of a signing key: published, signing, published only, gone.
const (
	keySigns     = 90 * 24 * time.Hour
	keyPublished = 24 * time.Hour // before it signs, and after: longer than anybody keeps the set, and than a token lives

	keysMaxAge  = time.Minute     // how long a server goes by what it read
	keysAway    = 5 * time.Minute // and while the database does not answer
	keysFloor   = 5 * time.Second // between two readings for keys that were not there
	keysTimeout = 3 * time.Second

	keysLock = 0x6368_756d_626f_6b65 // of the transactions that change keys
)

// RotateKeys makes, publishes, switches and withdraws signing keys as their
// times come. Any server or worker may call it, at any time, several at once.
func (s *Service) RotateKeys(ctx context.Context) error {
	now := s.cfg.Now()
	err := s.cfg.Store.AsSystem(ctx, func(q *db.Queries, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(keysLock)); err != nil {
			return fmt.Errorf("lock signing keys: %w", err)
		}
		if _, err := q.DeleteGoneSigningKeys(ctx, now); err != nil {
			return fmt.Errorf("delete signing keys: %w", err)
		}
		rows, err := q.ListSigningKeys(ctx, now)
		if err != nil {
			return fmt.Errorf("list signing keys: %w", err)
		}
		from, due := nextKey(rows, now)
		if !due {
			return nil
		}
		row, err := s.keys.make(from, now)
		if err != nil {
			return err
		}
		if err := q.InsertSigningKey(ctx, row); err != nil {
			return fmt.Errorf("insert signing key: %w", err)
		}
		s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "signing key made",
			slog.String("kid", row.Kid), slog.Time("signs_from", row.SignsFrom), slog.Time("signs_until", row.SignsUntil))
		return nil
	})
	if err != nil {
		return fmt.Errorf("rotate signing keys: %w", err)
	}
	return nil
}

// nextKey tells whether a key is to be made now, and from when on it signs.
func nextKey(rows []db.SigningKey, now time.Time) (from time.Time, due bool) {
	var last time.Time
	for _, row := range rows {
		if row.SignsUntil.After(last) {
			last = row.SignsUntil
		}
	}
	switch {
	case !last.After(now): // the very first one, or nobody rotated for long
		return now, true
	case last.Sub(now) <= keyPublished:
		return last, true
	}
	return time.Time{}, false
}

// signingKeys is what one server knows of the instance's keys.
type signingKeys struct {
	store *db.Store
	seal  *seal.Sealer
	now   func() time.Time

	known   atomic.Pointer[knownKeys]
	flights singleflight.Group
	mu      sync.Mutex
	tried   time.Time // when a key that was not there was last looked for
}

// knownKeys is one reading of the table. Immutable.
type knownKeys struct {
	read time.Time
	keys []bridgeKey
}

type bridgeKey struct {
	kid        string
	private    *ecdsa.PrivateKey
	jwk        json.RawMessage
	signsFrom  time.Time
	signsUntil time.Time
	goneAt     time.Time
}

func newSigningKeys(store *db.Store, keys *seal.Keyset, now func() time.Time) *signingKeys {
	return &signingKeys{store: store, seal: keys.Sealer(seal.SigningKey), now: now}
}

func signingKeyAD(kid string) []byte { return seal.AD("", "signing_keys", kid, "private_key") }

// make generates a key that signs from then on.
func (k *signingKeys) make(from, now time.Time) (db.InsertSigningKeyParams, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return db.InsertSigningKeyParams{}, fmt.Errorf("generate signing key: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return db.InsertSigningKeyParams{}, fmt.Errorf("encode signing key: %w", err)
	}
	jwk := jose.JSONWebKey{Key: private.Public(), Algorithm: string(jose.ES256), Use: "sig"}
	thumb, err := jwk.Thumbprint(crypto.SHA256)
	if err != nil {
		return db.InsertSigningKeyParams{}, fmt.Errorf("name signing key: %w", err)
	}
	jwk.KeyID = base64.RawURLEncoding.EncodeToString(thumb)
	public, err := jwk.MarshalJSON()
	if err != nil {
		return db.InsertSigningKeyParams{}, fmt.Errorf("encode public key: %w", err)
	}
	until := from.Add(keySigns)
	return db.InsertSigningKeyParams{
		Kid: jwk.KeyID, PrivateKey: k.seal.Seal(encoded, signingKeyAD(jwk.KeyID)), PublicJwk: public,
		CreatedAt: now, SignsFrom: from, SignsUntil: until, GoneAt: until.Add(keyPublished),
	}, nil
}

// published are the keys of jwks.json.
func (k *signingKeys) published(ctx context.Context) ([]bridgeKey, error) {
	known := k.known.Load()
	if known == nil || k.now().Sub(known.read) >= keysMaxAge {
		var err error
		if known, err = k.load(ctx); err != nil {
			return nil, err
		}
	}
	now := k.now()
	list := make([]bridgeKey, 0, len(known.keys))
	for _, key := range known.keys {
		if key.goneAt.After(now) {
			list = append(list, key)
		}
	}
	return list, nil
}

// signing is the key that signs now. False: there is none, and RotateKeys
// makes one.
func (k *signingKeys) signing(ctx context.Context) (bridgeKey, bool, error) {
	keys, err := k.published(ctx)
	if err != nil {
		return bridgeKey{}, false, err
	}
	now := k.now()
	for i := len(keys) - 1; i >= 0; i-- {
		if !keys[i].signsFrom.After(now) && keys[i].signsUntil.After(now) {
			return keys[i], true, nil
		}
	}
	return bridgeKey{}, false, nil
}

// public finds a published key by its id. One that is not known may have been
// made a moment ago by another server: the table is read again, but not for
// every made-up id.
func (k *signingKeys) public(ctx context.Context, kid string) (*ecdsa.PublicKey, bool, error) {
	keys, err := k.published(ctx)
	if err != nil {
		return nil, false, err
	}
	if public, ok := findKey(keys, kid); ok || !k.mayLook() {
		return public, ok, nil
	}
	if _, err := k.load(ctx); err != nil {
		return nil, false, err
	}
	if keys, err = k.published(ctx); err != nil {
		return nil, false, err
	}
	public, ok := findKey(keys, kid)
	return public, ok, nil
}

func findKey(keys []bridgeKey, kid string) (*ecdsa.PublicKey, bool) {
	for _, key := range keys {
		if key.kid == kid {
			return &key.private.PublicKey, true
		}
	}
	return nil, false
}

func (k *signingKeys) mayLook() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now(); k.tried.IsZero() || now.Sub(k.tried) >= keysFloor {
		k.tried = now
		return true
	}
	return false
}

// load reads the table. With the database away, what was read before serves a
// little longer: a key's own end is in its row.
func (k *signingKeys) load(ctx context.Context) (*knownKeys, error) {
	result := k.flights.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTimeout)
		defer cancel()
		return k.readTable(ctx)
	})
	select {
	case r := <-result:
		if r.Err == nil {
			return r.Val.(*knownKeys), nil
		}
		if known := k.known.Load(); known != nil && k.now().Sub(known.read) < keysAway {
			return known, nil
		}
		return nil, fault.Wrap(r.Err, fault.Unavailable, "keys_unavailable", "Access tokens cannot be checked now. Try again in a moment; signing in again does not help.").WithRetryAfter(time.Second)
	case <-ctx.Done():
		return nil, fault.Wrap(ctx.Err(), fault.Unavailable, "keys_unavailable", "Access tokens cannot be checked now. Try again in a moment.").WithRetryAfter(time.Second)
	}
}

func (k *signingKeys) readTable(ctx context.Context) (*knownKeys, error) {
	known := &knownKeys{read: k.now()}
	err := k.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		rows, err := q.ListSigningKeys(ctx, known.read)
		if err != nil {
			return err
		}
		for _, row := range rows {
			key, err := k.open(row)
			if err != nil {
				return err
			}
			known.keys = append(known.keys, key)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read signing keys: %w", err)
	}
	k.known.Store(known)
	return known, nil
}

func (k *signingKeys) open(row db.SigningKey) (bridgeKey, error) {
	encoded, err := k.seal.Open(row.PrivateKey, signingKeyAD(row.Kid))
	if err != nil {
		return bridgeKey{}, fmt.Errorf("open signing key %s: %w", row.Kid, err)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(encoded)
	if err != nil {
		return bridgeKey{}, fmt.Errorf("parse signing key %s: %w", row.Kid, err)
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return bridgeKey{}, errors.New("signing key is not ECDSA")
	}
	return bridgeKey{
		kid: row.Kid, private: private, jwk: row.PublicJwk,
		signsFrom: row.SignsFrom, signsUntil: row.SignsUntil, goneAt: row.GoneAt,
	}, nil
}

// keySetDocument is jwks.json (RFC 7517): public keys only.
func (s *Service) keySetDocument(ctx context.Context) ([]byte, error) {
	keys, err := s.keys.published(ctx)
	if err != nil {
		return nil, err
	}
	set := struct {
		Keys []json.RawMessage `json:"keys"`
	}{Keys: []json.RawMessage{}}
	for _, key := range keys {
		set.Keys = append(set.Keys, key.jwk)
	}
	return json.Marshal(set)
}
