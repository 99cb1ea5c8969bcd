// Renders a chart as Helm 3 does, for the tests: a request in JSON on standard input, the result in JSON on standard
// output. Go's text/template, sprig, sigs.k8s.io/yaml and gojsonschema are the libraries that Helm uses. What the chart
// has no use for is left out: dependencies, hooks, TOML.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// request is what `helm template` takes as arguments, and the objects that `lookup` finds in the cluster.
type request struct {
	Chart       string                   `json:"chart"`
	Name        string                   `json:"name"`
	Namespace   string                   `json:"namespace"`
	Values      []string                 `json:"values"`
	APIVersions []string                 `json:"apiVersions"`
	Objects     []map[string]interface{} `json:"objects"`
}

type result struct {
	Manifests map[string]string `json:"manifests,omitempty"`
	Notes     string            `json:"notes,omitempty"`
	Error     string            `json:"error,omitempty"`
}

func main() {
	var wanted request
	if err := json.NewDecoder(os.Stdin).Decode(&wanted); err != nil {
		fmt.Fprintln(os.Stderr, "the request is not JSON:", err)
		os.Exit(2)
	}
	rendered, err := run(wanted)
	if err != nil {
		rendered = result{Error: err.Error()}
	}
	if err := json.NewEncoder(os.Stdout).Encode(rendered); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(wanted request) (result, error) {
	loaded, err := loadChart(wanted.Chart)
	if err != nil {
		return result{}, err
	}
	values, err := mergeValues(loaded.values, wanted.Values)
	if err != nil {
		return result{}, err
	}
	if err := loaded.checkSchema(values); err != nil {
		return result{}, err
	}
	return newEngine(loaded, wanted.Objects).render(map[string]interface{}{
		"Values": values,
		"Chart":  loaded.metadata,
		"Release": map[string]interface{}{
			"Name":      wanted.Name,
			"Namespace": wanted.Namespace,
			"IsUpgrade": false,
			"Service":   "Helm",
		},
		"Capabilities": newCapabilities(wanted.APIVersions),
	})
}
