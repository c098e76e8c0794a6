import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AccountsApi;
import org.openapitools.client.api.AssetsApi;
import org.openapitools.client.api.TransactionsApi;
import org.openapitools.client.model.*;

/** README's example through the Java client of openapi-generator. Its argument is the ledger's address. */
public class Readme {
    static void expect(Object got, Object want) {
        if (!Objects.equals(got, want)) throw new AssertionError("got " + got + ", want " + want);
    }

    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.setBasePath(arguments[0]);
        AssetsApi assets = new AssetsApi(client);
        AccountsApi accounts = new AccountsApi(client);
        TransactionsApi transactions = new TransactionsApi(client);

        var usd = assets.registerAssetWithHttpInfo("USD", new RegisterAsset().name("US dollar").scale(2), null, null, null);
        expect(usd.getStatusCode(), 201);
        expect(usd.getData().getCurrency(), null);
        var stock = new RegisterAsset().name("Apple Inc.").description("Common stock").scale(0).currency("USD");
        expect(assets.registerAsset("AAPL", stock, null, null, null).getCurrency(), "USD");

        Profile profile = new Profile();
        profile.setAddresses(List.of(
            Map.of("street", "1 Main St", "city", "Springfield", "country", "US"),
            Map.of("street", "2 Lake Rd", "city", "Shelbyville", "country", "US")));
        profile.putAdditionalProperty("email", "jane@example.com");
        Overdraft unlimited = new Overdraft(OverdraftUnlimited.UNLIMITED);
        for (var open : Map.of(
            "jane", new OpenAccount().name("Jane Doe").profile(profile),
            "bank", new OpenAccount().name("Bank").overdraft(unlimited),
            "market", new OpenAccount().name("Market").overdraft(unlimited),
            "margin", new OpenAccount().name("Margin").overdraft(new Overdraft(Map.of("USD", "500000")))).entrySet()) {
            expect(accounts.openAccountWithHttpInfo(open.getKey(), open.getValue(), null, null, null).getStatusCode(), 201);
        }

        var deposit = new PostTransfer().id("deposit:1@bank").from("bank").to("jane").asset("USD").quantity("500000");
        expect(transactions.postTransferWithHttpInfo(deposit, null, null, null, null).getStatusCode(), 201);
        var trade = new PostTrade().id("t-1").asset("AAPL").buyer("jane").seller("market")
            .quantity("10").cost("150000").settle(true);
        var posted = transactions.postTradeWithHttpInfo(trade, null, null, null, null);
        expect(posted.getStatusCode(), 201);
        var replayed = transactions.postTradeWithHttpInfo(trade, null, null, null, null);
        expect(replayed.getStatusCode(), 200);
        expect(replayed.getData(), posted.getData());
        try {
            transactions.postTrade(trade.id("t-2").cost("1500000"), null, null, null, null);
            throw new AssertionError("a trade beyond the funds was posted");
        } catch (ApiException e) {
            Problem problem = Problem.fromJson(e.getResponseBody());
            expect(problem.getCode(), Code.INSUFFICIENT_FUNDS);
            expect(problem.getAvailable(), "350000");
        }

        Account jane = accounts.getAccount("jane", null, null, null);
        expect(jane.getProfile().getAdditionalProperty("email"), "jane@example.com");
        expect(jane.getProfile().getAddresses().size(), 2);
        expect(((Map<?, ?>) jane.getProfile().getAddresses().get(1)).get("city"), "Shelbyville");
        expect(jane.getOverdraft(), null);
        expect(accounts.getAccount("margin", null, null, null).getOverdraft().getMapStringString(), Map.of("USD", "500000"));

        Transaction read = transactions.getTransaction("t-1", null, null, null);
        expect(read.getPostings().size(), 4);
        expect(read.getPostings().get(0).getCost(), "150000");
        expect(transactions.getTransaction("deposit:1@bank", null, null, null).getId(), "deposit:1@bank");
        BalanceList balances = accounts.listBalances("jane", null, Consistency.STRONG, null, null, null, null);
        expect(balances.getData().size(), 2);
        expect(balances.getData().get(0).getQuantity(), "10");
        expect(balances.getNextCursor(), null);
        var history = accounts.listPostingsWithHttpInfo("jane", null, null, null, null, null, null, null, null);
        expect(history.getStatusCode(), 200);
    }
}
