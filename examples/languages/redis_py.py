# RESP with redis-py (apt install python3-redis, or pip install redis).
import time

import redis

client = redis.Redis(host="127.0.0.1", port=6380, socket_timeout=5, decode_responses=True)


def take(policy, key):
    denied, limit, remaining, retry_after, reset_after, delay_ms = client.execute_command("HEADGATE.ALLOW", policy, key)
    return not denied, remaining, retry_after  # seconds; -1: allowed, or never


for request in 1, 2, 3:
    allowed, remaining, retry_after = take("api", "python-redis")
    while not allowed and retry_after >= 0:
        print(f"request {request}: denied, retry after the wait")
        time.sleep(retry_after)
        allowed, remaining, retry_after = take("api", "python-redis")
    print(f"request {request}: {'allowed' if allowed else 'never'}, {remaining} left")

reply = client.execute_command("HEADGATE.RESERVE", "tokens", "python-redis", 400)
denied, remaining, reservation = reply[0], reply[2], reply[6]
if denied:
    raise SystemExit("reserve: denied")
print(f"reserved 400: {remaining} left")
settled = client.execute_command("HEADGATE.COMMIT", reservation, 150)
remaining = client.execute_command("HEADGATE.PEEK", "tokens", "python-redis")[2]
print(f"committed 150: settled {settled}, {remaining} left")
