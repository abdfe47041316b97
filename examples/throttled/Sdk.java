// Usage: java -cp 'DynamoDBLocal_lib/*' Sdk.java ENDPOINT TABLE... . The SDK retries, and then reports why DynamoDB throttled.
import java.net.URI;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.http.apache.ApacheHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.DynamoDbException;
import software.amazon.awssdk.services.dynamodb.model.ProvisionedThroughputExceededException;
import software.amazon.awssdk.services.dynamodb.model.ThrottlingException;
import software.amazon.awssdk.services.dynamodb.model.ThrottlingReason;

class Sdk {
    public static void main(String[] args) {
        var retries = AwsRetryStrategy.standardRetryStrategy().toBuilder().maxAttempts(3).build();
        try (var db = DynamoDbClient.builder()
                .endpointOverride(URI.create(args[0])).region(Region.EU_WEST_1).httpClient(ApacheHttpClient.create())
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("x", "x")))
                .overrideConfiguration(c -> c.retryStrategy(retries)).build()) {
            Arrays.stream(args).skip(1).forEach(table -> putUntilThrottled(db, table));
        }
    }

    static void putUntilThrottled(DynamoDbClient db, String table) {
        var item = Map.of("id", AttributeValue.fromS("hot"), "text", AttributeValue.fromS("x".repeat(300_000)));
        try {
            for (int n = 0; n < 10; n++) db.putItem(r -> r.tableName(table).item(item));
        } catch (DynamoDbException e) {
            List<ThrottlingReason> list = List.of(); // Java 17 has no switch over types
            if (e instanceof ProvisionedThroughputExceededException p) list = p.throttlingReasons();
            if (e instanceof ThrottlingException t) list = t.throttlingReasons();
            var reasons = list.stream().map(r -> '"' + r.reason() + '"').collect(Collectors.joining(","));
            System.out.printf("{\"class\":\"%s\",\"code\":\"%s\",\"attempts\":%d,\"throttling\":%b,\"reasons\":[%s]}%n",
                    e.getClass().getSimpleName(), e.awsErrorDetails().errorCode(), e.numAttempts(), e.isThrottlingException(), reasons);
        }
    }
}
