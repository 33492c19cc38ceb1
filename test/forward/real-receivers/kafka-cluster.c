// A Kafka cluster in memory: the mock cluster of librdkafka, driven by lines on the standard input. Prints the address of
// its broker, then a line for each command once it is done. Ends with its input.
//
//   topic NAME PARTITIONS     create a topic
//   down, up                  cut all connections and refuse new ones; accept them again
//   rtt MS                    answer each request so much later
//   fail API COUNT CODE       answer the next COUNT requests of this API with the error code
//   topic-error NAME CODE     answer for the topic with this error code (0: none)
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <string.h>

#define BROKER 1
#define MAX_ERRORS 100

static void fail_requests(rd_kafka_mock_cluster_t *cluster, int api, int count, int code) {
  rd_kafka_resp_err_t errors[MAX_ERRORS];
  if (count > MAX_ERRORS) count = MAX_ERRORS;
  for (int i = 0; i < count; i++) errors[i] = (rd_kafka_resp_err_t)code;
  rd_kafka_mock_push_request_errors_array(cluster, (int16_t)api, (size_t)count, errors);
}

int main(void) {
  char line[512], topic[256], problem[512];
  int a, b, c;
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "log_level", "0", NULL, 0);
  rd_kafka_t *handle = rd_kafka_new(RD_KAFKA_PRODUCER, conf, problem, sizeof(problem));
  rd_kafka_mock_cluster_t *cluster = handle ? rd_kafka_mock_cluster_new(handle, 1) : NULL;
  if (!cluster) return 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts(rd_kafka_mock_cluster_bootstraps(cluster));

  while (fgets(line, sizeof(line), stdin)) {
    if (sscanf(line, "topic %255s %d", topic, &a) == 2) rd_kafka_mock_topic_create(cluster, topic, a, 1);
    else if (sscanf(line, "topic-error %255s %d", topic, &a) == 2)
      rd_kafka_mock_topic_set_error(cluster, topic, (rd_kafka_resp_err_t)a);
    else if (sscanf(line, "fail %d %d %d", &a, &b, &c) == 3) fail_requests(cluster, a, b, c);
    else if (sscanf(line, "rtt %d", &a) == 1) rd_kafka_mock_broker_set_rtt(cluster, BROKER, a);
    else if (!strcmp(line, "down\n")) rd_kafka_mock_broker_set_down(cluster, BROKER);
    else if (!strcmp(line, "up\n")) rd_kafka_mock_broker_set_up(cluster, BROKER);
    else return 2;
    puts("done");
  }
  rd_kafka_mock_cluster_destroy(cluster);
  rd_kafka_destroy(handle);
  return 0;
}
