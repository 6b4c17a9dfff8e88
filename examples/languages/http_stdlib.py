# HTTP with Python's standard library.
import json
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def call(verb, **body):
    """Returns the answer: a decision, also where it is a denial. Other errors are raised."""
    request = Request("http://127.0.0.1:8080/v1/" + verb, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=5) as answer:
            return json.load(answer)
    except HTTPError as error:
        if error.code == 429:
            return json.load(error)
        raise SystemExit(f"{verb}: {json.load(error)['detail']}")


for request in 1, 2, 3:
    decision = call("allow", policy="api", key="python-http")
    while not decision["allowed"] and decision["retry_after_ms"] is not None:
        print(f"request {request}: denied, retry after the wait")
        time.sleep(decision["retry_after_ms"] / 1000)
        decision = call("allow", policy="api", key="python-http")
    print(f"request {request}: {'allowed' if decision['allowed'] else 'never'}, {decision['remaining']} left")

reserved = call("reserve", policy="tokens", key="python-http", cost=400)
if not reserved["allowed"]:
    raise SystemExit("reserve: denied")
print(f"reserved 400: {reserved['remaining']} left")
settled = call("commit", reservation=reserved["reservation"], actual=150)["settled"]
remaining = call("peek", policy="tokens", key="python-http")["remaining"]
print(f"committed 150: settled {int(settled)}, {remaining} left")
