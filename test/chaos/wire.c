/*
 * `wire NAME PORTS`: a network in one process, because not every kernel has netem. It has a TUN device NAME0, NAME1, ...
 * for each port, which others move into network namespaces, and carries the packets to the port of their last octet,
 * minus one. A line on standard input, `FROM TO LOSS DUPLICATE DELAY JITTER`, says what it does with packets of one
 * direction: percent, percent, and milliseconds up to the next but JITTER. It ends with its standard input.
 */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PORTS = 16, WAITING = 1 << 14, BYTES = 2048 };

struct direction { int loss, duplicate, delay, jitter; };
struct packet { double due; int to; ssize_t length; unsigned char bytes[BYTES]; };

static struct direction rules[PORTS][PORTS];
static struct packet *waiting[WAITING];
static int count, fds[PORTS], ports;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void send_packet(int to, const unsigned char *bytes, ssize_t length) {
  /* A port that is not up loses packets, as a network does. */
  if (write(fds[to], bytes, length) < 0) return;
}

static void carry(const struct direction *rule, int to, const unsigned char *bytes, ssize_t length) {
  if (rand() % 100 < rule->loss) return;
  if (rule->delay + rule->jitter == 0) {
    send_packet(to, bytes, length);
    return;
  }
  if (count == WAITING) return;
  struct packet *packet = malloc(sizeof *packet);
  packet->due = now() + rule->delay + (rule->jitter > 0 ? rand() % rule->jitter : 0);
  packet->to = to;
  packet->length = length;
  memcpy(packet->bytes, bytes, length);
  waiting[count++] = packet;
}

static void receive(int from) {
  unsigned char bytes[BYTES];
  for (int burst = 0; burst < 64; burst++) {
    ssize_t length = read(fds[from], bytes, sizeof bytes);
    if (length <= 0) return;
    int to = length >= 20 && bytes[0] >> 4 == 4 ? bytes[19] - 1 : -1;
    if (to < 0 || to >= ports) continue;
    const struct direction *rule = &rules[from][to];
    carry(rule, to, bytes, length);
    if (rand() % 100 < rule->duplicate) carry(rule, to, bytes, length);
  }
}

/* Sends what is due; returns milliseconds until the next is, at most a minute. */
static int send_due(void) {
  double time = now(), next = time + 60000;
  int kept = 0;
  for (int i = 0; i < count; i++) {
    struct packet *packet = waiting[i];
    if (packet->due <= time) {
      send_packet(packet->to, packet->bytes, packet->length);
      free(packet);
      continue;
    }
    if (packet->due < next) next = packet->due;
    waiting[kept++] = packet;
  }
  count = kept;
  return (int)(next - time) + 1;
}

static int open_port(const char *name, int port) {
  struct ifreq request = {0};
  int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  snprintf(request.ifr_name, IFNAMSIZ, "%s%d", name, port);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0) {
    perror("wire: no TUN device");
    exit(1);
  }
  return fd;
}

int main(int argc, char **argv) {
  static struct pollfd polled[PORTS + 1];
  char line[256];
  ports = argc == 3 ? atoi(argv[2]) : 0;
  if (ports < 1 || ports > PORTS) return 2;
  for (int i = 0; i < ports; i++) polled[i].fd = fds[i] = open_port(argv[1], i);
  for (int i = 0; i <= ports; i++) polled[i].events = POLLIN;
  polled[ports].fd = STDIN_FILENO;
  setvbuf(stdin, NULL, _IONBF, 0);
  puts("ready");
  fflush(stdout);
  for (;;) {
    poll(polled, ports + 1, send_due());
    for (int i = 0; i < ports; i++)
      if (polled[i].revents & POLLIN) receive(i);
    if (polled[ports].revents & (POLLIN | POLLHUP)) {
      int from, to;
      struct direction rule;
      if (fgets(line, sizeof line, stdin) == NULL) return 0;
      int read = sscanf(line, "%d %d %d %d %d %d", &from, &to, &rule.loss, &rule.duplicate, &rule.delay, &rule.jitter);
      if (read == 6 && from >= 0 && from < ports && to >= 0 && to < ports) rules[from][to] = rule;
    }
  }
}
