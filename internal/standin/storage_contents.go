package standin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// contents holds what is in files, by the version of their row, as long as the
// project runs: every upload makes a new version, so that a row and its content
// change in one step.
type contents struct {
	owner *pgxpool.Pool // for the files that SQL brought along
	mu    sync.Mutex
	open  map[string]func() io.Reader
}

func newContents(owner *pgxpool.Pool) *contents {
	return &contents{owner: owner, open: map[string]func() io.Reader{}}
}

func (c *contents) put(version string, open func() io.Reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[version] = open
}

func (c *contents) drop(versions ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, version := range versions {
		delete(c.open, version)
	}
}

// reader begins a content anew; io.EOF at once for one that is not there.
func (c *contents) reader(ctx context.Context, version string) (io.Reader, error) {
	c.mu.Lock()
	open := c.open[version]
	c.mu.Unlock()
	if open != nil {
		return open(), nil
	}
	var content []byte
	err := c.owner.QueryRow(ctx, "select content from standin.contents where version = $1", version).Scan(&content)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("read content: %w", err)
	}
	return bytes.NewReader(content), nil
}

// PutFile puts a file into a bucket, or replaces it, past every policy. content
// gives its size bytes anew for each reading of the file, so that a large one
// need not be held.
func (p *Project) PutFile(ctx context.Context, bucket, path, mime string, size int64, content func() io.Reader) error {
	version := uuid.NewString()
	metadata, err := metadataOf(size, `"`+version+`"`, mime, "no-cache", p.storage.now())
	if err != nil {
		return err
	}
	p.storage.contents.put(version, content)
	_, err = p.owner.Exec(ctx, `insert into storage.objects (bucket_id, name, version, metadata) values ($1, $2, $3, $4)
		on conflict (bucket_id, name) do update set version = excluded.version, metadata = excluded.metadata, updated_at = now()`,
		bucket, path, version, metadata)
	if err != nil {
		return fmt.Errorf("put file: %w", err)
	}
	return nil
}
