package calls

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// replaced is a file of the core with one part replaced.
func replaced(t *testing.T, file, from, to string) map[string][]byte {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil || strings.Count(string(content), from) != 1 {
		t.Fatalf("%s does not have %q once, %v", file, from, err)
	}
	return map[string][]byte{path: []byte(strings.Replace(string(content), from, to, 1))}
}

func TestOf(t *testing.T) {
	code, err := Load(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := code.Of("functions/query")
	if err != nil || len(list) < 5 || slices.Compact(slices.Clone(list))[len(list)-1] != list[len(list)-1] {
		t.Errorf("%v, %v", list, err)
	}
	for _, want := range []Call{{"dynamodb", "Query", "HOTSHARD_ITEMS_TABLE", "by_rank"}, {"dynamodb", "BatchGetItem", "HOTSHARD_ROLLUPS_TABLE", ""}} {
		if !slices.Contains(list, want) {
			t.Errorf("%v is not in %v", want, list)
		}
	}
	if _, err := code.Of("functions/nothing"); err == nil || !strings.Contains(err.Error(), "there is no main in functions/nothing") {
		t.Error(err)
	}
}

// TestDoubt: what the analysis can't tell is an error, and not left out.
func TestDoubt(t *testing.T) {
	const top = "internal/query/boards.go"
	const read = "s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.settings.ItemsTable,"
	for _, c := range []struct{ file, from, to, want string }{
		{top, read, `s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: new(strings.ToUpper(name)),`, "which come from no setting"},
		{top, read, `s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: new("items"),`, "which come from no setting"},
		{"functions/query/main.go", "query.Handler(", "nothing(", "undefined: nothing"},
	} {
		overlay := replaced(t, c.file, c.from, c.to)
		if strings.Contains(c.to, "strings.") {
			for path, content := range overlay {
				if text := string(content); !strings.Contains(text, "\t\"strings\"\n") {
					overlay[path] = []byte(strings.Replace(text, "import (", "import (\n\t\"strings\"", 1))
				}
			}
		}
		code, err := Load(root, overlay)
		if err == nil {
			_, err = code.Of("functions/query")
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.to, err, c.want)
		}
	}
}

// TestSmall: where a table and its index are named in different places, either all that
// may be asked is found, or the analysis says that it can't tell.
func TestSmall(t *testing.T) {
	code, err := Load("testdata/small", nil)
	if err != nil {
		t.Fatal(err)
	}
	table, index := Call{"dynamodb", "Query", "TABLE", ""}, Call{"dynamodb", "Query", "TABLE", "by_x"}
	for folder, want := range map[string][]Call{
		"together": {index}, "branch": {table, index}, "later": {table, index},
		"helper": nil, "returned": nil, "copied": nil, "kept": nil, "nested": nil,
	} {
		got, err := code.Of("functions/" + folder)
		if want != nil && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("%s: %v, %v", folder, got, err)
		}
		if want == nil && (err == nil || !strings.Contains(err.Error(), "functions/"+folder+": the table or index of a Query is stored at ")) {
			t.Errorf("%s: %v, %v", folder, got, err)
		}
	}
}
