#include <zlib.h>

/* Macros, which Swift can't import. 15 + 16: the longest window, in a gzip wrapper. */
static inline int iap_begin_gunzip(z_stream *stream) { return inflateInit2(stream, 15 + 16); }

static inline int iap_begin_gzip(z_stream *stream) {
    return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}
