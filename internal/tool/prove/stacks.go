package prove

import (
	"context"
	"net/url"
	"strings"

	"github.com/hotshard/hotshard/internal/base/awscall"
)

// stacks calls CloudFormation.
type stacks struct{ calls *awscall.Client }

const cloudFormation = "2010-05-15"

func (s stacks) status(ctx context.Context, name string) (status, why string, err error) {
	var answer struct {
		Status string `xml:"DescribeStacksResult>Stacks>member>StackStatus"`
		Why    string `xml:"DescribeStacksResult>Stacks>member>StackStatusReason"`
	}
	err = s.calls.Query(ctx, "cloudformation:DescribeStacks", cloudFormation, url.Values{"StackName": {name}}, &answer)
	if awscall.Code(err) == "ValidationError" && strings.Contains(err.Error(), "does not exist") {
		return "", "", nil
	}
	return answer.Status, answer.Why, err
}

func (s stacks) remove(ctx context.Context, name string) error {
	return s.calls.Query(ctx, "cloudformation:DeleteStack", cloudFormation, url.Values{"StackName": {name}}, nil)
}
