package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
)

// repository is the builder's folder: the one that holds supabase/.
type repository struct {
	root   string // absolute
	config *supabaseConfig
}

// supabaseConfig is what we read of supabase/config.toml.
type supabaseConfig struct {
	ProjectID string `toml:"project_id"`
	API       struct {
		Port    int      `toml:"port"`
		Schemas []string `toml:"schemas"`
		MaxRows int      `toml:"max_rows"`
	} `toml:"api"`
	DB struct {
		Port int `toml:"port"`
	} `toml:"db"`
}

// linkFile is supabase/chumbo/chumbo.toml: which project of which server the
// repository belongs to. It holds no secret, and the server in it is only
// compared, never called.
type linkFile struct {
	Server  string `toml:"server"`
	Project string `toml:"project"`
}

// findRepository walks up from dir to the first folder with
// supabase/config.toml. Without one, dir itself is the root.
func findRepository(dir string) (*repository, error) {
	for at := dir; ; at = filepath.Dir(at) {
		path := filepath.Join(at, "supabase", "config.toml")
		text, err := os.ReadFile(path)
		if err == nil {
			return readRepository(at, path, string(text))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if at == filepath.Dir(at) {
			return &repository{root: dir}, nil
		}
	}
}

func readRepository(root, path, text string) (*repository, error) {
	c := &supabaseConfig{}
	c.API.Port, c.API.MaxRows, c.API.Schemas, c.DB.Port = 54321, 1000, []string{"public"}, 54322 // Supabase's own defaults
	if _, err := toml.Decode(text, c); err != nil {
		return nil, usage("%s is not valid TOML: %v", path, err)
	}
	return &repository{root: root, config: c}, nil
}

func (r *repository) linkPath() string {
	return filepath.Join(r.root, "supabase", "chumbo", "chumbo.toml")
}

// link reads the link file of a repository that chumbo link has been run in.
func (r *repository) link(server string) (linkFile, error) {
	var l linkFile
	_, err := toml.DecodeFile(r.linkPath(), &l)
	if errors.Is(err, fs.ErrNotExist) {
		return l, usage("this folder is not linked to a project: run chumbo link first")
	}
	if err != nil {
		return l, usage("%s is not valid TOML: %v", r.show(r.linkPath()), err)
	}
	if l.Project == "" {
		return l, usage("%s names no project: run chumbo link again", r.show(r.linkPath()))
	}
	if l.Server != "" && l.Server != server {
		return l, usage("this folder is linked at %s, but CHUMBO_URL is %s: change CHUMBO_URL, or run chumbo link again", l.Server, server)
	}
	return l, nil
}

// writeLink writes the link file. It reports whether the file changed.
func (r *repository) writeLink(l linkFile) (changed bool, err error) {
	text := fmt.Sprintf("# Written by chumbo link. It holds no secret: commit it.\nserver = %q\nproject = %q\n", l.Server, l.Project)
	path := r.linkPath()
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, fmt.Errorf("make %s: %w", r.show(filepath.Dir(path)), err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return false, fmt.Errorf("write %s: %w", r.show(path), err)
	}
	return true, nil
}

// surfaceFile is one supabase/chumbo/<surface>.yaml.
type surfaceFile struct {
	surface string
	path    string
}

// surfaceFiles lists the surface files, sorted by name; only the one named
// when only is not empty.
func (r *repository) surfaceFiles(only string) ([]surfaceFile, error) {
	dir := filepath.Dir(r.linkPath())
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list %s: %w", r.show(dir), err)
	}
	var found []surfaceFile
	for _, e := range entries {
		name, isYAML := strings.CutSuffix(e.Name(), ".yaml")
		if isYAML && !e.IsDir() && (only == "" || name == only) {
			found = append(found, surfaceFile{name, filepath.Join(dir, e.Name())})
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].surface < found[j].surface })
	if len(found) > 0 {
		return found, nil
	}
	if only != "" {
		return nil, usage("there is no %s", r.show(filepath.Join(dir, only+".yaml")))
	}
	return nil, usage("there is no surface file in %s: write main.yaml there (docs/surface-file.md shows how)", r.show(dir))
}

// show is a path as a person in the repository's root would write it.
func (r *repository) show(path string) string {
	if rel, err := filepath.Rel(r.root, path); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return path
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// slugOf turns a project_id of config.toml into a proposal for a slug; empty
// when nothing usable is left.
func slugOf(projectID string) string {
	s := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(projectID), "-"), "-")
	if len(s) < 3 || len(s) > 40 || s[0] < 'a' {
		return ""
	}
	return s
}
