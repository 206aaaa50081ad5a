package mcp

import (
	"testing"

	"github.com/chumbo-dev/chumbo/internal/id"
)

func TestRevisionJustBuiltIsFoundEvenWhenTheCacheIsFull(t *testing.T) {
	t.Parallel()
	const bound, large = 1 << 20, 300 << 10 // a few fit
	c, err := newRevisionCache(bound)
	if err != nil {
		t.Fatal(err)
	}
	popular := revisionKey{surface: id.New[id.SurfaceKind]()}
	for range 100 {
		c.put(popular, &revision{bytes: large})
		c.get(popular)
	}
	for range 50 {
		key := revisionKey{surface: id.New[id.SurfaceKind]()}
		built := &revision{bytes: large}
		c.put(key, built)
		if got, ok := c.get(key); !ok || got != built {
			t.Fatal("a revision is built again on its next call")
		}
		if c.bytes > bound || c.bytes != int64(c.lru.Len())*large {
			t.Fatalf("%d bytes for %d revisions, bound %d", c.bytes, c.lru.Len(), bound)
		}
	}
}

func TestRevisionCacheCountsReplacedAndOversizedOnesOnce(t *testing.T) {
	t.Parallel()
	c, err := newRevisionCache(1000)
	if err != nil {
		t.Fatal(err)
	}
	key := revisionKey{surface: id.New[id.SurfaceKind]()}
	c.put(key, &revision{bytes: 600})
	c.put(key, &revision{bytes: 300})
	if c.bytes != 300 {
		t.Errorf("%d bytes after a replacement, want 300", c.bytes)
	}
	c.put(revisionKey{surface: id.New[id.SurfaceKind]()}, &revision{bytes: 5000})
	if c.bytes != 300 || c.lru.Len() != 1 {
		t.Errorf("%d bytes in %d entries after one over the bound, which must not push the others out", c.bytes, c.lru.Len())
	}
	if _, err := newRevisionCache(0); err == nil {
		t.Error("a cache without a bound is made")
	}
}
