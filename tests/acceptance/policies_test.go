package acceptance

import (
	"path"
	"slices"
	"strings"
	"testing"

	"ledger.example/internal/table"
)

// The values of two parameters: the roles that may write beside the functions.
const operatorRole, breakGlassRole = "OperatorRoleArn", "BreakGlassRoleArn"

// checkPolicies evaluates the policies of the roles and of the table, as with OperatorRoleArn, over the writes that the
// functions sent. A function may make its own writes. Those of another one are refused, unless its own items have the
// same PK. Nobody else may write, whatever an administrator's policy allows.
func checkPolicies(t *testing.T, functions map[string]function) {
	t.Helper()
	resources := stackResources(t)
	table := document(document(resources["LedgerTable"].Properties["ResourcePolicy"])["PolicyDocument"])["Statement"]
	for writer, f := range functions {
		if len(f.sent.writes) == 0 && writer != queryFunction {
			t.Errorf("%s wrote nothing", writer)
		}
		for w := range f.sent.writes {
			for name := range functions {
				role := roleOf(resources, name)
				got := allows(statementsOf(resources, role), w) && !denies(table, role+".Arn", w)
				if want := name == writer || isOf(name, w); got != want {
					t.Errorf("a write by %s, %v: %s may make it: %t, want %t", writer, w, name, got, want)
				}
			}
			if !denies(table, "arn:aws:iam::123456789012:role/administrator", w) ||
				denies(table, operatorRole, w) || denies(table, breakGlassRole, w) {
				t.Errorf("%v: not only the two roles may make it beside the functions", w)
			}
		}
	}
}

// isOf reports whether a function writes items with the PK of a write, by their declarations. The command function may
// write every item.
func isOf(name string, w write) bool {
	function := strings.ToLower(strings.TrimSuffix(name, "Function"))
	if name == commandFunction {
		return true
	}
	return w.action == "dynamodb:PutItem" && slices.ContainsFunc(table.ItemTypes(), func(p *table.Pattern) bool {
		prefix, _, hasParts := strings.Cut(p.ItemType.PK, "{")
		return slices.Contains(strings.Split(p.By, ", "), function) &&
			(w.pk == prefix || hasParts && strings.HasPrefix(w.pk, prefix))
	})
}

// allows reports whether a statement of a role allows a write to the table.
func allows(statements []any, w write) bool {
	return slices.ContainsFunc(statements, func(s any) bool {
		is := document(s)
		return is["Effect"] == "Allow" && slices.Contains(flat(is["Action"]), w.action) &&
			slices.Contains(flat(is["Resource"]), "LedgerTable.Arn") && hasKey(document(is["Condition"]), w.pk)
	})
}

// hasKey evaluates a condition on the PK of a request. Without a condition every PK suits.
func hasKey(condition map[string]any, pk string) bool {
	for operator, keys := range condition {
		is := func(pattern string) bool { return pattern == pk }
		switch operator {
		case "ForAllValues:StringEquals":
			pk = strings.Replace(pk, "FORWARD#events", "FORWARD#${EventBus}", 1)
		case "ForAllValues:StringLike":
			is = func(pattern string) bool {
				ok, err := path.Match(pattern, strings.ReplaceAll(pk, "/", "_"))
				return ok && err == nil
			}
		default:
			return false
		}
		if !slices.ContainsFunc(flat(document(keys)["dynamodb:LeadingKeys"]), is) {
			return false
		}
	}
	return true
}

// denies reports whether a statement of the table's policy denies a write by a principal.
func denies(policy any, principal string, w write) bool {
	var denied func(v any) bool // looks also into the lists that !If makes
	denied = func(v any) bool {
		switch v := v.(type) {
		case []any:
			return slices.ContainsFunc(v, denied)
		case map[string]any:
			except := flat(document(document(v["Condition"])["ArnNotEquals"])["aws:PrincipalArn"])
			return v["Effect"] == "Deny" && slices.Contains(flat(v["Action"]), w.action) &&
				!slices.Contains(except, principal)
		}
		return false
	}
	return denied(policy)
}
