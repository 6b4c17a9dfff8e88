package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// own is the path of this repository's modules, whose version is the release's.
const own = "github.com/headgate/headgate"

// sbom writes the bill of materials for a binary as CycloneDX. It lists the linked modules.
func (r *release) sbom(t target, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	sum, err := digest(binary)
	if err != nil {
		return err
	}
	bom := r.bill(t, info, sum)
	return write(r.named("%s.cdx.json", t), func(w *os.File) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	})
}

func (r *release) bill(t target, info *debug.BuildInfo, sum string) *cdx.BOM {
	main := r.component(cdx.ComponentTypeApplication, &info.Main)
	main.Name, main.Hashes = "headgate", &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
	main.Properties = &[]cdx.Property{{Name: "headgate:target", Value: t.String()}, {Name: "headgate:commit", Value: r.commit}}
	libraries := []cdx.Component{{
		Type: cdx.ComponentTypeLibrary, Name: "std", BOMRef: "pkg:golang/std@" + info.GoVersion,
		Version: strings.TrimPrefix(info.GoVersion, "go"), PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	}}
	for _, module := range info.Deps {
		if module.Replace != nil && module.Replace.Sum != "" {
			module = module.Replace
		}
		libraries = append(libraries, r.component(cdx.ComponentTypeLibrary, module))
	}
	refs := make([]string, len(libraries))
	for i := range libraries {
		refs[i] = libraries[i].BOMRef
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &main}
	bom.Components, bom.Dependencies = &libraries, &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return bom
}

// component describes a module. For a third-party module, it includes the sum from go.sum.
func (r *release) component(kind cdx.ComponentType, module *debug.Module) cdx.Component {
	version := module.Version
	if module.Path == own || strings.HasPrefix(module.Path, own+"/") {
		version = "v" + r.version
	}
	purl := fmt.Sprintf("pkg:golang/%s@%s", module.Path, version)
	c := cdx.Component{Type: kind, Name: module.Path, Version: version, PackageURL: purl, BOMRef: purl}
	if module.Sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: module.Sum}}
	}
	return c
}
