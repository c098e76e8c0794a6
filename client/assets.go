package client

import (
	"context"
	"net/http"
)

// AssetID names an asset.
type AssetID struct {
	Asset string `path:"asset"`
}

// Asset is something that accounts hold amounts of, for example a currency or a share. Assets are immutable.
type Asset struct {
	ID          string `path:"asset" json:"id" is:"ID" in:"same" example:"AAPL" names:"asset"`
	Name        string `json:"name" is:"Name" in:"required" example:"Apple Inc." flag:"name, such as 'US dollar'"`
	Description string `json:"description" is:"Text" example:"Common stock" flag:"description of the asset"`
	// Decimal places of the smallest unit, in plain digits: `2`, not `2.0`.
	Scale int `json:"scale" in:"required" least:"0" most:"18" example:"0" flag:"decimal places"`
	// Another registered asset, in which the costs of this asset are counted. Without it, costs must be zero.
	Currency string `json:"currency,omitempty" is:"ID" names:"asset" example:"USD" flag:"the asset of its costs"`
	// The time of the registration.
	CreatedAt string `json:"created_at" is:"Time" in:"same" example:"2026-11-21T09:00:00.000000Z"`
	// Who created it.
	Actor string `json:"actor,omitempty" is:"Actor" in:"same" list:"-"`
}

const assetPath = "/v1/assets/{asset}"

// The operations on assets.
var (
	// Assets are immutable. The same body again gets 200 and the first answer. Another body gets 409. An answer of
	// `GET` can be sent back: `id`, `created_at` and `actor` are accepted if they are equal to the stored values.
	RegisterAsset = Op[Asset, Asset]{
		ID: "registerAsset", Method: http.MethodPut, Path: assetPath, Summary: "Register an asset", May: admins,
		OK: "The same body was registered before.", Created: "Registered.", Refusals: "asset_exists asset_not_found",
	}
	// Strongly consistent.
	GetAsset = Op[AssetID, Asset]{
		ID: "getAsset", Path: assetPath, Summary: "Get an asset", May: everyone, Tagged: true,
	}
	// By id. With `prefix`, only ids that begin with it. New assets may be missing for a moment.
	ListAssets = Op[ByPrefix, List[Asset]]{
		ID: "listAssets", Path: "/v1/assets", Summary: "List assets", May: everyone,
	}
)

// RegisterAsset registers an asset. The same request again succeeds. Errors: those of Send, with the codes asset_exists
// and asset_not_found (the currency).
func (c *Client) RegisterAsset(ctx context.Context, a Asset) (Asset, Written, error) {
	return written(RegisterAsset.Call(ctx, c, a))
}

// Asset reads an asset. Errors: *Error (asset_not_found).
func (c *Client) Asset(ctx context.Context, id string) (Reply[Asset], error) {
	return GetAsset.Call(ctx, c, AssetID{id})
}

// Assets lists the assets whose ids begin with a prefix, "" for all, by id.
func (c *Client) Assets(prefix string) Listing[Asset] {
	return Listing[Asset]{c, ListAssets.request(ByPrefix{prefix})}
}
