package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"
)

// metadata is Chart.yaml, with the names that templates use: .Chart.AppVersion.
type metadata struct {
	APIVersion  string            `json:"apiVersion"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Type        string            `json:"type"`
	Version     string            `json:"version"`
	AppVersion  string            `json:"appVersion"`
	KubeVersion string            `json:"kubeVersion"`
	Home        string            `json:"home"`
	Sources     []string          `json:"sources"`
	Keywords    []string          `json:"keywords"`
	Annotations map[string]string `json:"annotations"`
}

type chart struct {
	metadata  metadata
	values    map[string]interface{}
	schema    []byte
	templates map[string]string
}

func loadChart(folder string) (*chart, error) {
	loaded := &chart{templates: map[string]string{}}
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		return loaded.add(filepath.ToSlash(name), data)
	})
	if err != nil {
		return nil, err
	}
	if loaded.metadata.Name == "" || loaded.metadata.Version == "" {
		return nil, errors.New("Chart.yaml: name and version are required")
	}
	return loaded, nil
}

func (c *chart) add(name string, data []byte) error {
	switch {
	case name == "Chart.yaml":
		// Strict: a misspelt field of Chart.yaml is ignored by Helm.
		return yaml.UnmarshalStrict(data, &c.metadata)
	case name == "values.yaml":
		// As in Helm, defaults keep their numbers as text, and values of users become floating-point numbers.
		return yaml.Unmarshal(data, &c.values, func(decoder *json.Decoder) *json.Decoder {
			decoder.UseNumber()
			return decoder
		})
	case name == "values.schema.json":
		c.schema = data
	case strings.HasPrefix(name, "templates/"):
		c.templates[path.Join(c.metadata.Name, name)] = string(data)
	}
	return nil
}

// mergeValues lays the texts over the defaults in order. null removes a default.
func mergeValues(defaults map[string]interface{}, texts []string) (map[string]interface{}, error) {
	merged := defaults
	for _, text := range texts {
		over := map[string]interface{}{}
		if err := yaml.Unmarshal([]byte(text), &over); err != nil {
			return nil, fmt.Errorf("failed to parse values: %w", err)
		}
		merged = merge(merged, over)
	}
	return merged, nil
}

func merge(under, over map[string]interface{}) map[string]interface{} {
	merged := map[string]interface{}{}
	for key, value := range under {
		merged[key] = value
	}
	for key, value := range over {
		upper, isMap := value.(map[string]interface{})
		lower, wasMap := merged[key].(map[string]interface{})
		switch {
		case value == nil:
			delete(merged, key)
		case isMap && wasMap:
			merged[key] = merge(lower, upper)
		default:
			merged[key] = value
		}
	}
	return merged
}

// checkSchema has the texts of Helm 3.
func (c *chart) checkSchema(values map[string]interface{}) error {
	if c.schema == nil {
		return errors.New("the chart has no values.schema.json")
	}
	data, err := json.Marshal(values)
	if err != nil {
		return err
	}
	checked, err := gojsonschema.Validate(gojsonschema.NewBytesLoader(c.schema), gojsonschema.NewBytesLoader(data))
	if err != nil {
		return fmt.Errorf("unable to validate schema: %w", err)
	}
	if checked.Valid() {
		return nil
	}
	head := "values don't meet the specifications of the schema(s) in the following chart(s):"
	lines := []string{head, c.metadata.Name + ":"}
	for _, problem := range checked.Errors() {
		lines = append(lines, fmt.Sprintf("- %s", problem))
	}
	return errors.New(strings.Join(lines, "\n"))
}

type apiVersions []string

func (v apiVersions) Has(wanted string) bool {
	for _, one := range v {
		if one == wanted {
			return true
		}
	}
	return false
}

type capabilities struct{ APIVersions apiVersions }

func newCapabilities(served []string) capabilities {
	return capabilities{append(apiVersions{"v1", "apps/v1", "policy/v1", "networking.k8s.io/v1"}, served...)}
}
