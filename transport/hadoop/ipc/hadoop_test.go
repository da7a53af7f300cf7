package ipc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	protobuf "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/proto"
)

// TestWithHadoop tests with Hadoop's client and server. It needs a JDK, and the folder of Hadoop's
// jars in RMD_HADOOP_LIB.
func TestWithHadoop(t *testing.T) {
	lib := os.Getenv("RMD_HADOOP_LIB")
	if lib == "" {
		t.Skip("RMD_HADOOP_LIB does not name a folder with Hadoop's jars")
	}
	var ports []string
	for _, auth := range []Auth{AuthSimple, AuthTokenSimple, AuthToken} {
		s := openServer(t, &testMethods{}, func(c *Config) {
			c.Auth = auth
			c.Protocols = javaProtocols()
		})
		ports = append(ports, fmt.Sprint(s.Addr().(*net.TCPAddr).Port))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	java := exec.CommandContext(ctx, "java",
		append([]string{"-Xmx256m", "-cp", filepath.Join(lib, "*"), "testdata/java/Probe.java"},
			append(ports, testToken, string(testPassword))...)...)
	var log strings.Builder
	java.Stderr = &log
	in, err := java.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := java.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := java.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		if err := java.Wait(); err != nil {
			t.Errorf("java: %v\n%s", err, log.String())
		}
	}()
	told := map[string]string{}
	for lines := bufio.NewScanner(out); told["serving"] == "" && lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), " = "); ok {
			told[name] = value
			t.Log(lines.Text())
		}
	}
	const app, user = `^application_1700000000000_0042$`, "DIGEST-MD5"
	for name, want := range map[string]string{
		"none":                       app,
		"none at both":               app,
		"foreign token, simple port": app,
		"foreign token, both":        app,
		"token at both":              app,
		"token":                      `^true$`,
		"none at token port":         `AccessControlException: SIMPLE authentication is not enabled.  Available:\[TOKEN\]`,
		"wrong password":             `javax.security.sasl.SaslException.*` + user,
		"unknown token":              `SecretManager\$InvalidToken: the token is not known here`,
		"standby during sasl":        `StandbyException.*no leader`,
		"exception":                  `^org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException: no application_5_0006`,
		"proxy user":                 `AuthorizationException.*mallory may not act for alice`,
	} {
		if !regexp.MustCompile(want).MatchString(told[name]) {
			t.Errorf("%s: got %q, want %s", name, told[name], want)
		}
	}
	callHadoop(t, "127.0.0.1:"+told["serving"])
}

// javaProtocols returns the protocols that the Java client calls.
func javaProtocols() []Protocol {
	id := &proto.ApplicationIdProto{Id: protobuf.Int32(42), ClusterTimestamp: protobuf.Int64(1700000000000)}
	return []Protocol{{
		Name: testProtocol,
		Methods: map[string]Method{
			"getNewApplication": Handle(func(_ context.Context, c *Call,
				_ *proto.GetNewApplicationRequestProto) (*proto.GetNewApplicationResponseProto, error) {
				return &proto.GetNewApplicationResponseProto{ApplicationId: id}, nil
			}),
			"getApplicationReport": Handle(func(context.Context, *Call,
				*proto.GetApplicationReportRequestProto) (*proto.GetApplicationReportResponseProto, error) {
				return nil, &Error{Class: "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException",
					Message: "no application_5_0006"}
			}).Inline(),
		},
	}, {
		Name: "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB",
		Methods: map[string]Method{
			"finishApplicationMaster": Handle(func(_ context.Context, c *Call,
				_ *proto.FinishApplicationMasterRequestProto) (*proto.FinishApplicationMasterResponseProto, error) {
				return &proto.FinishApplicationMasterResponseProto{IsUnregistered: protobuf.Bool(c.Caller.User == testUser)}, nil
			}),
		},
	}}
}

// callHadoop calls a server of Hadoop that accepts only tokens, like a NodeManager.
func callHadoop(t *testing.T, address string) {
	identifier := of(`0a0d 0a0908071080d095ffbc311001 | 120f 0a09 "localhost" 108ee302 | 1a05 "alice" | 202a`)
	to := Target{Address: address, Protocol: "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB",
		Token: &Token{identifier, testPassword}}
	cl := openClient(t)
	var e *RemoteError
	for range 3 {
		if err := cl.Call(t.Context(), to, "getContainerStatuses", &proto.GetContainerStatusesRequestProto{},
			&proto.GetContainerStatusesResponseProto{}); err != nil {
			t.Errorf("token: %v", err)
		}
	}
	err := cl.Call(t.Context(), to, "stopContainers", &proto.StopContainersRequestProto{},
		&proto.StopContainersResponseProto{})
	if !errors.As(err, &e) || e.Class != ClassYarn || !strings.HasPrefix(e.Message, "no stopContainers") {
		t.Errorf("an exception: %v", err)
	}
	err = cl.Call(t.Context(), to, "none", &proto.StopContainersRequestProto{}, &proto.StopContainersResponseProto{})
	if !errors.As(err, &e) || e.Class != ClassNoSuchMethod || e.Detail != DetailNoSuchMethod {
		t.Errorf("no such method: %v", err)
	}
	wrong := to
	wrong.Token = &Token{identifier, []byte("guess")}
	if err := cl.Call(t.Context(), wrong, "getContainerStatuses", &proto.GetContainerStatusesRequestProto{},
		nil); !errors.As(err, &e) || e.Class != ClassSasl {
		t.Errorf("wrong password: %v", err)
	}
	wrong.Token = &Token{append(identifier[:len(identifier)-1:len(identifier)-1], 43), testPassword}
	if err := cl.Call(t.Context(), wrong, "getContainerStatuses", &proto.GetContainerStatusesRequestProto{},
		nil); !errors.As(err, &e) || e.Class != ClassInvalidToken {
		t.Errorf("unknown token: %v", err)
	}
	wrong = Target{Address: address, Protocol: to.Protocol, User: "alice"}
	if err := cl.Call(t.Context(), wrong, "getContainerStatuses", &proto.GetContainerStatusesRequestProto{},
		nil); !errors.As(err, &e) || e.Class != ClassAccessControl {
		t.Errorf("no token: %v", err)
	}
}
