#include <microhttpd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

/* Swift can't call variadic functions: these two give them fixed arguments. */

static inline struct MHD_Daemon *MHD_start_loopback_daemon(
    unsigned int flags, uint16_t port, MHD_AccessHandlerCallback handler, MHD_RequestCompletedCallback completed,
    void *context, unsigned int threads, const char *key_pem, const char *certificate_pem)
{
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key_pem},
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)certificate_pem},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(
        flags, port, NULL, NULL, handler, context,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_THREAD_POOL_SIZE, threads,
        MHD_OPTION_CONNECTION_LIMIT, 4096u,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(64 * 1024),
        MHD_OPTION_LISTEN_BACKLOG_SIZE, 1024u,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_ARRAY, key_pem != NULL ? tls : none,
        MHD_OPTION_END);
}

static inline uint16_t MHD_get_daemon_port(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info != NULL ? info->port : 0;
}
