package audit

import (
	"math/big"
	"strconv"
	"testing"
)

// Assets beyond assetsMax share one sum. An unreadable posting of one of them makes that sum unknown, not unbalanced.
func TestUnreadablePostingOfAssetWithoutOwnSum(t *testing.T) {
	a := New(Options{Findings: 9})
	c := newReconciler(a)
	for i := range assetsMax {
		c.assetSums.add(strconv.Itoa(i), leg{quantity: new(big.Int), cost: new(big.Int)})
	}
	c.sumBefore = c.sumBefore.AddDate(1, 0, 0)
	c.noteUnreadable("GOLD")
	c.addToAsset(posting{leg: leg{asset: "GOLD", quantity: big.NewInt(1), cost: new(big.Int)}})
	if c.checkSums(t.Context()); a.result().Counts.Findings > 0 {
		t.Errorf("%+v", a.result())
	}
	c.addToAsset(posting{leg: leg{asset: "0", quantity: big.NewInt(1), cost: new(big.Int)}})
	if c.checkSums(t.Context()); a.result().ByCode[AssetUnbalanced] != 1 {
		t.Errorf("%+v", a.result())
	}
}
