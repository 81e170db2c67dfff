/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Links to separate debug information; see debuglink.h. */
#include "symbolize/elf/debuglink.h"

#include <string.h>
#include <unistd.h>

bool debuglink_read(const struct elf_file *file, struct debuglink *ret)
{
	Elf_Scn *scn = elf_file_section(file, ".gnu_debuglink");
	const Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	const uint8_t *crc;
	size_t len;

	if (!data || !data->d_buf || data->d_size < 8)
		return false;
	len = strnlen(data->d_buf, data->d_size);
	/* The name, padded to a multiple of 4, then the checksum. */
	if (!len || (len / 4 + 1) * 4 + 4 > data->d_size || memchr(data->d_buf, '/', len))
		return false;
	crc = (const uint8_t *)data->d_buf + (len / 4 + 1) * 4;
	ret->name = data->d_buf;
	ret->crc = crc[0] | crc[1] << 8 | crc[2] << 16 | (uint32_t)crc[3] << 24;
	return true;
}

/* CRC-32 as in zlib and gdb: reflected 0x04C11DB7. */
static uint32_t crc32_update(uint32_t crc, const uint8_t *data, size_t len)
{
	static const uint32_t nibble[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};

	crc = ~crc;
	for (size_t i = 0; i < len; i++) {
		crc ^= data[i];
		crc = crc >> 4 ^ nibble[crc & 15];
		crc = crc >> 4 ^ nibble[crc & 15];
	}
	return ~crc;
}

static bool crc_is(int fd, uint32_t wanted)
{
	uint8_t buffer[65536];
	uint32_t crc = 0;
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		crc = crc32_update(crc, buffer, n);
		at += n;
	}
	return !n && crc == wanted;
}

bool debuglink_accepts(const struct debuglink *link, const struct sym_build_id *id,
		       const struct elf_file *file)
{
	if (id->len && file->id.len)
		return sym_build_id_equal(&file->id, id);
	return !file->id.len && file->fd >= 0 && crc_is(file->fd, link->crc);
}
