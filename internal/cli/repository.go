package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// repository is the builder's folder: the one that holds supabase/. Its files
// are named by slash paths below it, and none outside is read or written, not
// by way of a symbolic link either.
type repository struct {
	root   *os.Root
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

// Where things are in a repository.
const (
	configPath    = "supabase/config.toml"
	projectRef    = "supabase/.temp/project-ref" // written by supabase link
	migrationsDir = "supabase/migrations"
	surfacesDir   = "supabase/chumbo"
	linkPath      = surfacesDir + "/chumbo.toml"
)

// findRepository walks up from dir to the first folder with
// supabase/config.toml. Without one, dir itself is the root.
func findRepository(dir string) (*repository, error) {
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Stat(filepath.Join(at, filepath.FromSlash(configPath)))
		if err == nil {
			return openRepository(at)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("find %s: %w", configPath, err)
		}
		if at == filepath.Dir(at) {
			return openRepository(dir)
		}
	}
}

func openRepository(dir string) (*repository, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	r := &repository{root: root}
	text, err := r.read(configPath, maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	c := &supabaseConfig{}
	c.API.Port, c.API.MaxRows, c.API.Schemas, c.DB.Port = 54321, 1000, []string{"public"}, 54322 // Supabase's own defaults
	if _, err := toml.Decode(text, c); err != nil {
		return nil, usage("%s is not valid TOML: %v", configPath, err)
	}
	r.config = c
	return r, refuseSecrets(field{configPath, c.ProjectID})
}

const maxText = 1 << 20

// read reads a whole file of at most limit bytes.
func (r *repository) read(name string, limit int64) (string, error) {
	info, err := r.root.Stat(name)
	if err != nil {
		return "", readError(name, err)
	}
	if !info.Mode().IsRegular() {
		return "", usage("%s is not a file", name)
	}
	if info.Size() > limit {
		return "", usage("%s is over %d KiB", name, limit>>10)
	}
	b, err := r.root.ReadFile(name)
	if err != nil {
		return "", readError(name, err)
	}
	return string(b), nil
}

func readError(name string, err error) error {
	if leadsOutside(err) {
		return usage("%s leads out of this folder by a symbolic link, and is not followed: put the file itself there", name)
	}
	return fmt.Errorf("read %s: %w", name, err)
}

// leadsOutside recognizes os.Root's refusal, which has no exported error.
func leadsOutside(err error) bool {
	return err != nil && strings.Contains(err.Error(), "escapes from parent")
}

// write puts a file in place whole: it is there entirely, or as it was.
func (r *repository) write(name, text string) error {
	temp := path.Join(path.Dir(name), ".chumbo-"+path.Base(name))
	err := r.root.MkdirAll(path.Dir(name), 0o755)
	if err == nil {
		_ = r.root.Remove(temp) // of a run that was cut off
		err = r.create(temp, text)
	}
	if err == nil {
		err = r.root.Rename(temp, name)
	}
	if err == nil {
		return nil
	}
	_ = r.root.Remove(temp)
	if leadsOutside(err) {
		return usage("%s would be written outside of this folder, through a symbolic link: put a folder there", name)
	}
	return fmt.Errorf("write %s: %w", name, err)
}

func (r *repository) create(name, text string) error {
	f, err := r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// list names the files of a folder that end in suffix, sorted. No folder is no
// files.
func (r *repository) list(dir, suffix string) ([]string, error) {
	entries, err := fs.ReadDir(r.root.FS(), dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, readError(dir, err)
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), suffix) && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, path.Join(dir, e.Name()))
		}
	}
	return names, nil
}

// linkFile is supabase/chumbo/chumbo.toml: which project of which server the
// repository belongs to. It holds no secret, and the server in it is only
// compared, never called.
type linkFile struct {
	Server  string `toml:"server"`
	Project string `toml:"project"`
}

// link reads the link file of a repository that chumbo link has been run in.
func (r *repository) link(set settings) (linkFile, error) {
	var l linkFile
	text, err := r.read(linkPath, maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return l, usage("this folder is not linked to a project: run chumbo link first")
	}
	if err != nil {
		return l, err
	}
	if _, err := toml.Decode(text, &l); err != nil {
		return l, usage("%s is not valid TOML: %v", linkPath, err)
	}
	if l.Project == "" {
		return l, usage("%s names no project: run chumbo link again", linkPath)
	}
	server := set.server.String()
	switch {
	case l.Server == "" || l.Server == server:
		return l, nil
	case set.fromEnv:
		return l, usage("this folder is linked at %s, but CHUMBO_URL is %s: change CHUMBO_URL, or run chumbo link again", l.Server, server)
	}
	return l, usage("this folder is linked at %s, but you are signed in at %s: run chumbo login --server %s, or chumbo link again", l.Server, server, l.Server)
}

// writeLink writes the link file. It reports whether the file changed.
func (r *repository) writeLink(l linkFile) (changed bool, err error) {
	text := fmt.Sprintf("# Written by chumbo link. It holds no secret: commit it.\nserver = %q\nproject = %q\n", l.Server, l.Project)
	if old, err := r.read(linkPath, maxText); err == nil && old == text {
		return false, nil
	}
	return true, r.write(linkPath, text)
}

// surfaceFile is one supabase/chumbo/<surface>.yaml.
type surfaceFile struct {
	surface string
	path    string
}

func fileOf(surface string) surfaceFile {
	return surfaceFile{surface, path.Join(surfacesDir, surface+".yaml")}
}

// surfaceFiles lists the surface files, sorted by name; only the one named
// when only is not empty.
func (r *repository) surfaceFiles(only string) ([]surfaceFile, error) {
	names, err := r.list(surfacesDir, ".yaml")
	if err != nil {
		return nil, err
	}
	var found []surfaceFile
	for _, name := range names {
		surface := strings.TrimSuffix(path.Base(name), ".yaml")
		if only == "" || surface == only {
			found = append(found, surfaceFile{surface, name})
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	if only != "" {
		return nil, usage("there is no %s", path.Join(surfacesDir, only+".yaml"))
	}
	return nil, usage("there is no surface file in %s: chumbo init writes one to begin with", surfacesDir)
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
