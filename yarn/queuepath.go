package yarn

import "strings"

// ParentQueue returns the path of the queue above the queue with a path. It is empty for root.
func ParentQueue(path string) string { return path[:max(strings.LastIndexByte(path, '.'), 0)] }

// QueueName returns the last part of the path of a queue.
func QueueName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
