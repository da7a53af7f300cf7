package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"
)

// pod has what the test takes from the StatefulSet in contrib/kubernetes/rmd.yaml.
type pod struct {
	Kind string
	Spec struct {
		Replicas int
		Template struct {
			Spec struct {
				SecurityContext struct{ RunAsUser, RunAsGroup, FsGroup uint32 }
				Containers      []struct {
					Args           []string
					ReadinessProbe struct {
						HTTPGet struct {
							Path string
							Port int
						} `yaml:"httpGet"`
					} `yaml:"readinessProbe"`
					VolumeMounts []struct {
						Name, MountPath, SubPathExpr string
						ReadOnly                     bool
					} `yaml:"volumeMounts"`
				}
				Volumes []struct {
					Projected struct {
						DefaultMode uint32 `yaml:"defaultMode"`
						Sources     []struct {
							Secret struct {
								Name  string
								Items []struct{ Key, Path string }
							}
						}
					}
				}
			}
		}
	}
}

// readManifest returns the StatefulSet. Every document of the file must be YAML.
func readManifest(t *testing.T) pod {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "contrib", "kubernetes", "rmd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The parser makes the names of fields lower case, Kubernetes does not.
	for _, name := range []string{"securityContext", "runAsUser", "runAsGroup", "fsGroup", "mountPath",
		"subPathExpr", "readOnly"} {
		text = bytes.ReplaceAll(text, []byte(name+":"), []byte(strings.ToLower(name)+":"))
	}
	var set pod
	kinds := map[string]int{}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var p pod
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if kinds[p.Kind]++; p.Kind == "StatefulSet" {
			set = p
		}
	}
	if len(kinds) != 3 || kinds["Service"] != 1 || kinds["PodDisruptionBudget"] != 1 || kinds["StatefulSet"] != 1 {
		t.Fatalf("the manifest has %v", kinds)
	}
	return set
}

// kubelet does to the files of a pod what Kubernetes does to its volumes.
type kubelet struct {
	t    *testing.T
	root string // stands for / of all pods
	gid  int    // fsGroup
}

func (k kubelet) do(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// secrets writes the projected volume: files of root behind a symbolic link, readable by fsGroup.
func (k kubelet) secrets(p pod, from string) string {
	v := p.Spec.Template.Spec.Volumes[0].Projected
	at := filepath.Join(k.root, "etc")
	k.do(os.MkdirAll(at, 0o755))
	for _, s := range v.Sources {
		for _, item := range s.Secret.Items {
			file := filepath.Join(at, item.Path)
			data := filepath.Join(filepath.Dir(file), "..data-"+filepath.Base(file))
			k.do(os.MkdirAll(filepath.Dir(file), 0o755))
			b, err := os.ReadFile(filepath.Join(from, s.Secret.Name, item.Key))
			if errors.Is(err, fs.ErrNotExist) {
				b, err = os.ReadFile(filepath.Join(from, s.Secret.Name, "hadoop", item.Key))
			}
			k.do(err)
			k.do(os.WriteFile(data, b, 0o400))
			k.do(os.Chown(data, 0, k.gid))
			k.do(os.Chmod(data, fs.FileMode(v.DefaultMode)|0o440))
			k.do(os.Symlink(filepath.Base(data), file))
		}
	}
	return at
}

// mount makes a volume, or mounts it again: everything in it gets the group fsGroup, and the group
// gets what the owner of a new file has.
func (k kubelet) mount(volume string) {
	k.do(os.MkdirAll(volume, 0o755))
	k.do(filepath.WalkDir(volume, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		k.do(err)
		mode := info.Mode().Perm() | 0o660
		if d.IsDir() {
			mode |= 0o110 | fs.ModeSetgid
		}
		k.do(os.Lchown(at, -1, k.gid))
		return os.Chmod(at, mode)
	}))
}

// TestKubernetesManifest starts the replicas of contrib/kubernetes/rmd.yaml twice, with its
// arguments, users and modes of files, and root's user instead of its own in a second try. Only the
// addresses differ.
func TestKubernetesManifest(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make volumes of Kubernetes")
	}
	p := readManifest(t)
	as := p.Spec.Template.Spec.SecurityContext
	for name, cred := range map[string]*syscall.Credential{
		"rmd":   {Uid: as.RunAsUser, Gid: as.RunAsGroup, Groups: []uint32{as.FsGroup}},
		"apart": {Uid: as.RunAsUser, Gid: as.RunAsGroup + 1, Groups: []uint32{as.FsGroup}},
		"root":  {Uid: 0, Gid: 0, Groups: []uint32{as.FsGroup}},
	} {
		t.Run(name, func(t *testing.T) { runManifest(t, p, cred) })
	}
}

func runManifest(t *testing.T, p pod, cred *syscall.Credential) {
	c := newProcesses(t, p.Spec.Replicas, defaults, "", "") // for its ports' addresses and its helpers
	root, err := os.MkdirTemp("", "rmd-kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	k := kubelet{t: t, root: root, gid: int(p.Spec.Template.Spec.SecurityContext.FsGroup)}
	k.do(os.Chmod(root, 0o755))
	binary := filepath.Join(root, "rmd") // another user cannot reach the directory of the test's
	b, err := os.ReadFile(os.Args[0])
	k.do(err)
	k.do(os.WriteFile(binary, b, 0o755))
	k.do(os.Chmod(binary, 0o755))

	host := func(i int) string { return fmt.Sprintf("127.%d.%d.%d", 43+os.Getpid()%200, os.Getpid()/200%250, i+1) }
	var replicas []string
	for i := range p.Spec.Replicas {
		replicas = append(replicas, fmt.Sprintf("rmd-%d=%s", i, host(i)))
	}
	created := filepath.Join(root, "created")
	c.done("init", "--dir", created, "--cluster", "prod", "--replicas", strings.Join(replicas, ","), "--tls")
	etc := k.secrets(p, created)

	pods := p.Spec.Template.Spec.Containers[0]
	start := func(i int) *exec.Cmd {
		volume := filepath.Join(root, fmt.Sprint("volume", i))
		k.mount(volume)
		var args []string
		for _, a := range pods.Args {
			for _, m := range pods.VolumeMounts {
				here := volume
				if m.SubPathExpr == "$(POD_NAME)" {
					here = filepath.Join(etc, fmt.Sprint("rmd-", i))
				}
				if rest, ok := strings.CutPrefix(a, m.MountPath); ok {
					a = here + rest
				}
			}
			args = append(args, a)
		}
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
		out := &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = out, out
		k.do(cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
			if t.Failed() {
				t.Logf("rmd-%d:\n%s", i, out)
			}
		})
		return cmd
	}
	probe := pods.ReadinessProbe.HTTPGet
	for time := range 2 {
		var running []*exec.Cmd
		for i := range p.Spec.Replicas {
			running = append(running, start(i))
		}
		for i := range running {
			c.await(fmt.Sprintf("rmd-%d is ready at start %d", i, time+1), patience, func() bool {
				q, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://%s:%d%s", host(i), probe.Port, probe.Path), nil)
				k.do(err)
				q.Host = fmt.Sprintf("10.1.2.3:%d", probe.Port) // the kubelet names the address of the pod
				resp, err := http.DefaultClient.Do(q)
				if err != nil {
					return false
				}
				defer resp.Body.Close()
				return resp.StatusCode == http.StatusOK
			})
		}
		for _, cmd := range running {
			k.do(cmd.Process.Signal(syscall.SIGTERM))
		}
		for i, cmd := range running {
			if err := cmd.Wait(); err != nil {
				t.Fatalf("rmd-%d: %v", i, err)
			}
		}
	}
}
