package admin

import (
	"fmt"

	"rmd/transport/hadoop/ipc"
)

const (
	classService = "org.apache.hadoop.ha.ServiceFailedException"
	classHealth  = "org.apache.hadoop.ha.HealthCheckFailedException"
)

// ioException returns the YarnException that AdminService makes of an IOException. Its text begins
// with the name of the IOException.
func ioException(format string, args ...any) error {
	return &ipc.Error{Class: ipc.ClassYarn, Message: "java.io.IOException: " + fmt.Sprintf(format, args...)}
}

func yarnException(format string, args ...any) error {
	return &ipc.Error{Class: ipc.ClassYarn, Message: fmt.Sprintf(format, args...)}
}
