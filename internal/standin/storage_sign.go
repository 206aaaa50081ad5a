package standin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// sign makes a link to a file that the caller may read now.
func (s *storageServer) sign(w http.ResponseWriter, r *http.Request, o object) error {
	who, input, err := s.signInput(r)
	if err != nil {
		return err
	}
	if _, err := s.visible(r, who, o, "storage.object.sign"); err != nil {
		return err
	}
	link, err := s.link(o, input.ExpiresIn)
	if err != nil {
		return err
	}
	return writeStorageJSON(w, map[string]any{"signedURL": link})
}

// signMany makes links to those of several files that the caller may read.
func (s *storageServer) signMany(w http.ResponseWriter, r *http.Request, o object) error {
	who, input, err := s.signInput(r)
	if err != nil {
		return err
	}
	if len(input.Paths) == 0 {
		return schemaError("body must have required property 'paths'")
	}
	type item struct {
		Error     *string `json:"error"`
		Path      string  `json:"path"`
		SignedURL *string `json:"signedURL"`
	}
	items := []item{}
	for _, path := range input.Paths {
		one := item{Path: path}
		_, err := s.visible(r, who, object{o.bucket, path}, "storage.object.sign_many")
		switch {
		case errors.Is(err, errNoObject):
			one.Error = text("Either the object does not exist or you do not have access to it")
		case err != nil:
			return err
		default:
			link, err := s.link(object{o.bucket, path}, input.ExpiresIn)
			if err != nil {
				return err
			}
			one.SignedURL = &link
		}
		items = append(items, one)
	}
	return writeStorageJSON(w, items)
}

type signInput struct {
	ExpiresIn int      `json:"expiresIn"`
	Paths     []string `json:"paths"`
	Transform any      `json:"transform"`
}

func (s *storageServer) signInput(r *http.Request) (who caller, input signInput, err error) {
	if who, err = s.caller(r); err != nil {
		return who, input, err
	}
	if err := readStorageJSON(r, &input); err != nil {
		return who, input, err
	}
	if input.ExpiresIn < 1 {
		return who, input, schemaError("body/expiresIn must be >= 1")
	}
	if input.Transform != nil {
		return who, input, notInStorage("transformed images")
	}
	return who, input, nil
}

// link is relative to /storage/v1 and holds the name as it is, not encoded.
func (s *storageServer) link(o object, seconds int) (string, error) {
	now := s.now().Unix()
	token, err := s.links.signLegacy(map[string]any{
		"url": o.bucket + "/" + o.name, "scope": "download", "iat": now, "exp": now + int64(seconds),
	})
	if err != nil {
		return "", err
	}
	return "/object/sign/" + o.bucket + "/" + o.name + "?token=" + token, nil
}

func readStorageJSON(r *http.Request, into any) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	if json.Unmarshal(body, into) != nil {
		return schemaError("body must be object")
	}
	return nil
}
