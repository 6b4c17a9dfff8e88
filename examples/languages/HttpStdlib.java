// HTTP with the standard library of Java 17: java HttpStdlib.java. Java has no JSON reader, so field is a simple one.
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.regex.Pattern;

class HttpStdlib {
    static final HttpClient client = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();

    /** Returns the answer: a decision, also where it is a denial. Other errors are thrown. */
    static String call(String verb, String body) throws IOException, InterruptedException {
        var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:8080/v1/" + verb))
            .timeout(Duration.ofSeconds(5)).header("Content-Type", "application/json").POST(BodyPublishers.ofString(body)).build();
        var answer = client.send(request, BodyHandlers.ofString());
        if (answer.statusCode() != 200 && answer.statusCode() != 429) {
            throw new IOException(verb + ": " + answer.body());
        }
        return answer.body();
    }

    /** Returns a field of an answer, or "null". */
    static String field(String answer, String name) {
        var found = Pattern.compile("\"" + name + "\":\"?([^\",}]*)").matcher(answer);
        return found.find() ? found.group(1) : "null";
    }

    public static void main(String[] args) throws Exception {
        var one = "{\"policy\":\"api\",\"key\":\"java-http\"}";
        for (int request = 1; request <= 3; request++) {
            var decision = call("allow", one);
            while (field(decision, "allowed").equals("false") && !field(decision, "retry_after_ms").equals("null")) {
                System.out.println("request " + request + ": denied, retry after the wait");
                Thread.sleep(Long.parseLong(field(decision, "retry_after_ms")));
                decision = call("allow", one);
            }
            var allowed = field(decision, "allowed").equals("true");
            System.out.println("request " + request + ": " + (allowed ? "allowed" : "never") + ", " + field(decision, "remaining") + " left");
        }

        var reserved = call("reserve", "{\"policy\":\"tokens\",\"key\":\"java-http\",\"cost\":400}");
        if (field(reserved, "allowed").equals("false")) {
            throw new IOException("reserve: denied");
        }
        System.out.println("reserved 400: " + field(reserved, "remaining") + " left");
        var settled = call("commit", "{\"reservation\":\"" + field(reserved, "reservation") + "\",\"actual\":150}");
        var remaining = field(call("peek", "{\"policy\":\"tokens\",\"key\":\"java-http\"}"), "remaining");
        System.out.println("committed 150: settled " + (field(settled, "settled").equals("true") ? 1 : 0) + ", " + remaining + " left");
    }
}
