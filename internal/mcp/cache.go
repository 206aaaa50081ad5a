package mcp

import (
	"errors"
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// revisionCache keeps built revisions within a bound of bytes and lets go of
// the least recently used. Recency, not frequency: a policy that admits by
// frequency turns a large revision away again and again while the cache is
// full, and every call of that surface then builds it anew.
type revisionCache struct {
	mu    sync.Mutex
	lru   *simplelru.LRU[revisionKey, *revision]
	bytes int64
	bound int64
}

func newRevisionCache(bound int64) (*revisionCache, error) {
	if bound <= 0 {
		return nil, errors.New("revision cache: the bound must be positive")
	}
	c := &revisionCache{bound: bound}
	lru, err := simplelru.NewLRU(math.MaxInt, func(_ revisionKey, r *revision) { c.bytes -= int64(r.bytes) })
	if err != nil {
		return nil, err
	}
	c.lru = lru
	return c, nil
}

func (c *revisionCache) get(key revisionKey) (*revision, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(key)
}

// put keeps a revision. One that is larger than the bound is not kept.
func (c *revisionCache) put(key revisionKey, r *revision) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key) // its bytes must not count twice
	if int64(r.bytes) > c.bound {
		return
	}
	c.lru.Add(key, r)
	c.bytes += int64(r.bytes)
	for c.bytes > c.bound {
		c.lru.RemoveOldest()
	}
}
